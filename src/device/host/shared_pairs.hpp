// SPDX-License-Identifier: Apache-2.0
// Sorting pairs and keys alone of some hundreds of KiB and more, on the calling thread and others that stay ready, by
// the host device's own sort, but in memory that the process keeps: new memory, a device and its queue took longer than
// the sort itself. shared_order.hpp orders keys so.
#pragma once

#include <cstdint>
#include <functional>

#include "device/host/small_pairs.hpp"
#include "keys/codec.hpp"

namespace spansort::device::host {

/// Most bytes of keys and values. The process keeps as many, and the scratch of the threads.
inline constexpr std::uint64_t most_shared_pairs_bytes = std::uint64_t{1} << 25;
/// Each has scratch of its own.
inline constexpr unsigned most_shared_pairs_threads = 16;

/// Pairs that are not shared, however many threads there are.
inline constexpr std::uint64_t fewest_shared_pairs = std::uint64_t{1} << 13;
/// One of so many threads, or of more, is there soon when helpers are woken.
inline constexpr unsigned many_pair_threads = 4;
inline constexpr std::uint64_t most_pairs_alone_of_two = std::uint64_t{3} << 14;

/// Returns the most pairs that one of so many threads sorts alone in less time than they share them: two took 0.15 ms
/// for 2^16 u32(u32) and one 0.24, and for 2^15 the second one comes too late; of 16 threads eight took 0.037 for 2^14,
/// and one 0.060.
[[nodiscard]] constexpr std::uint64_t most_pairs_alone(unsigned num_threads) noexcept {
  if (num_threads == 1) return most_small_pairs;
  return num_threads < many_pair_threads ? most_pairs_alone_of_two : fewest_shared_pairs;
}

/// Bytes that a sort takes of which keys and values, and what an argsort copies of them, have `data_bytes`.
[[nodiscard]] std::uint64_t shared_pairs_bytes(std::uint64_t data_bytes, unsigned num_threads);

/// Sorts keys by `codec`, and moves values of 4, 8 or 16 bytes along. Stable. Returns false, with nothing done, while
/// another thread uses the memory. Throws std::bad_alloc with both untouched.
[[nodiscard]] bool sort_shared_pairs(const keys::key_codec& codec, void* keys, void* values, std::uint64_t value_bytes,
                                     std::uint64_t num_keys, unsigned num_threads);

/// Does so to keys alone, by a codec that folds no ties.
[[nodiscard]] bool sort_shared_keys(const keys::key_codec& codec, void* keys, std::uint64_t num_keys,
                                    unsigned num_threads);

/// Sorts what is appended to a long run of keys. It may throw with the keys untouched.
template <class K>
using tail_sort = std::function<void(K* tail, std::uint64_t num_keys)>;

/// Merges keys alone of a few ascending runs (ordered_runs.hpp), or of a long one and a tail. Returns false, with
/// nothing written, where there are others, or no memory, or while another thread uses it. For K of 4 and 8 bytes.
template <class K>
[[nodiscard]] bool merge_shared_runs(const keys::codec_of<K>& codec, K* keys, std::uint64_t num_keys,
                                     unsigned num_threads, const tail_sort<K>& sort_tail);

/// Gives back the memory that the process keeps for these calls, unless another thread uses it.
void release_shared_pairs() noexcept;

}  // namespace spansort::device::host
