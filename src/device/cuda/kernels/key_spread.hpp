// SPDX-License-Identifier: Apache-2.0
// A spread maps encoded keys of 8 bytes to the numbers of buckets, in their order, so that a sample of the keys fills
// all buckets alike: floats of [0, 1), of which half have the same exponent, numbers that leave their highest bits
// unused, and what is distributed normally go by buckets like keys of which every bit is chance.
//
// It is an equi-depth histogram. Cells are equal parts of the range that a sample lies in, and begin at multiples of
// their width. A cell has 2^b buckets, equal parts of it in turn, where the sample has keys enough in it; neighbours
// that have few share a bucket. What lies outside of the range is in the first bucket or the last one. So keys of most
// buckets agree above the bits of its part, but any bit may differ where cells share a bucket, and in these two.
// Two cells do where the keys are even in the range, and none where that is the range of all keys.
//
// Cells are many, so that those of floats are parts of an octave whatever their range, and few sampled keys are in each
// where the range is short. Neighbours whose counts differ by what chance may do are taken for alike, and a sixteenth
// of the cells are made where these are nearly as even, for fewer lines of the table are read then.
//
// All of it but the number of buckets is in device memory, as kernels are launched before it is known where no host
// waits.
#pragma once

#include <cstdint>

#include "device/cuda/tuning/even_keys_policy.hpp"

namespace spansort::device::cuda {

/// The range that a spread's cells divide. Kernels load it as one word of 16 bytes.
struct alignas(16) spread_range {
  std::uint32_t least;      ///< where the first cell begins: so many times 2^32
  std::uint32_t most;       ///< how far from there the last cell ends, likewise, less one
  std::uint32_t shift;      ///< all cells together are 2^32 parts of 2^shift keys each; at most 32
  std::uint32_t cell_bits;  ///< there are 2^cell_bits cells; 0: none, a bucket's number is the highest bits
};

/// Kernels look this up in device memory.
struct spread_table {
  spread_range range;
  /// A cell's first bucket, times 64, plus 32 less the bits of its number of buckets.
  std::uint32_t cells[std::uint64_t{1} << spread_cell_bits];
};

/// A spread over 2^bucket_bits buckets. What lies outside of the range is in the first or in the last one.
struct key_spread {
  spread_table* table = nullptr;  ///< in device memory; null: no spread
  unsigned bucket_bits = 0;
};

}  // namespace spansort::device::cuda
