// SPDX-License-Identifier: Apache-2.0
// A spread maps encoded keys of 8 bytes to the numbers of buckets, in their order, so that a sample of the keys fills
// all buckets alike: floats of [0, 1), of which half have the same exponent, numbers that leave their highest bits
// unused, and what is distributed normally go by buckets like keys of which every bit is chance.
//
// It is an equi-depth histogram. Cells are equal parts of the range that a sample lies in, and begin at multiples of
// their width. A cell has 2^b buckets, equal parts of it in turn, where the sample has keys enough in it; neighbours
// that have few share a bucket. What lies outside of the range is in the first bucket or the last one. So keys of most
// buckets agree above the bits of its part, but any bit may differ where cells share a bucket, and in these two.
#pragma once

#include <cstdint>

namespace spansort::device::cuda {

/// A spread over 2^bucket_bits buckets. What lies outside of the range is in the first or in the last one.
struct key_spread {
  /// A cell's first bucket, times 64, plus 32 less the bits of its number of buckets. In device memory; null: no
  /// spread.
  const std::uint32_t* cells = nullptr;
  std::uint32_t least = 0;  ///< where the first cell begins: so many times 2^32
  unsigned shift = 0;       ///< all cells together are 2^32 parts of 2^shift keys each; at most 32
  unsigned cell_bits = 1;   ///< there are 2^cell_bits cells
  unsigned bucket_bits = 0;
};

}  // namespace spansort::device::cuda
