// SPDX-License-Identifier: Apache-2.0
// Sorting an array of keys alone of some hundreds of KiB, on the calling thread and as many others as are there. The
// caller splits the array and sorts parts like the others do; nobody waits between the two.
#pragma once

#include <cstdint>

#include "keys/codec.hpp"

namespace spansort::device::host {

/// Most bytes of keys: beyond, the first split by one thread costs more than a partition by several. Two threads of an
/// AMD Zen 5 have been measured; more threads would have waited longer.
[[nodiscard]] constexpr std::uint64_t most_shared_bytes(unsigned num_threads) noexcept {
  return num_threads <= 2 ? std::uint64_t{1} << 22 : std::uint64_t{1} << 20;
}
/// More threads would wait for the splits.
inline constexpr unsigned most_shared_threads = 4;

/// Returns whether there are vectors to sort keys of this width.
[[nodiscard]] bool has_shared_sort(std::uint64_t key_bytes);

/// Sorts any number of keys of 32 or 64 bits by `codec`, which folds no ties, on `num_threads` threads.
/// Throws std::bad_alloc with the keys untouched.
void sort_shared(const keys::key_codec& codec, void* keys, std::uint64_t num_keys, unsigned num_threads);

/// Bytes that a sort of as many takes, and that the process keeps for the next one.
[[nodiscard]] std::uint64_t shared_sort_bytes(std::uint64_t keys_bytes, unsigned num_threads);

}  // namespace spansort::device::host
