// SPDX-License-Identifier: Apache-2.0
// Sorting an array of keys alone of up to some tens of MiB in place, on the calling thread and as many others as are
// there. The caller splits the array and sorts parts like the others do; nobody waits between the two. Keys of 8 and 16
// bits are counted instead.
#pragma once

#include <cstdint>

#include "keys/codec.hpp"

namespace spansort::device::host {

/// Most bytes of keys: beyond, a partition into classes is faster, or one by several threads than the first splits by
/// one. One and two threads of an AMD Zen 5 have been measured, ms here and by classes on two: 2^22 u64 12 and 9; 2^23
/// u32 11 and 13, keys that crowd 4 to 12 and 8 to 15; 2^24 u32 27 and 21 with workspace that is there, 28 and 32
/// without. More threads would have waited longer. Keys of 8 and 16 bits are counted, by up to four threads.
[[nodiscard]] constexpr std::uint64_t most_shared_bytes(unsigned num_threads, std::uint64_t key_bytes) noexcept {
  if (key_bytes < 4) return std::uint64_t{num_threads > 2 ? 8U : 32U} << 20;
  if (num_threads > 2) return std::uint64_t{1} << 20;
  return std::uint64_t{key_bytes == 4 ? 32U : 24U} << 20;
}

/// Returns whether keys of this width can be sorted so: wide ones need vectors.
[[nodiscard]] bool has_shared_sort(std::uint64_t key_bytes);

/// Sorts any number of keys by `codec`, which folds no ties, on `num_threads` threads; of 8 or 16 bits fewer than 2^32.
/// Throws std::bad_alloc with the keys untouched.
void sort_shared(const keys::key_codec& codec, void* keys, std::uint64_t num_keys, unsigned num_threads);

/// Bytes that a sort of any number of keys takes, and that the process keeps for the next one.
[[nodiscard]] std::uint64_t shared_sort_bytes(unsigned num_threads);

}  // namespace spansort::device::host
