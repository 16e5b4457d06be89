// SPDX-License-Identifier: Apache-2.0
// Sorting an array of keys alone of up to some tens of MiB, on the calling thread and as many others as are there: in
// place, but for a few ascending runs, which are merged in memory that the process keeps for pairs (shared_pairs.hpp),
// and for the few keys that others are in order but for.
// The caller splits the array and sorts parts like the others do; nobody waits between the two. Keys of 8 and 16 bits
// are counted instead.
#pragma once

#include <cstdint>

#include "keys/codec.hpp"

namespace spansort::device::host {

/// One thread sorts up to so many bytes of keys. On two idle cores of a Zen 4 two threads are faster already there
/// (2^14 u32 21 us, one thread 34), but where other processes want the second core, a thread that has taken a part may
/// have to wait for a processor, and calls took up to 0.5 ms and more.
inline constexpr std::uint64_t most_alone_bytes = std::uint64_t{1} << 16;
/// One thread takes part for each so many bytes of more than that.
inline constexpr std::uint64_t bytes_of_small_share = std::uint64_t{1} << 14;
/// Values that repeat are counted by one thread in fewer bytes of keys.
inline constexpr std::uint64_t most_counted_alone_bytes = std::uint64_t{1} << 18;
/// Keys of a few runs, from most_counted_alone_bytes on, are sorted by so many threads in less time than one merges
/// them: four runs of 2^16 u64 took one of an Emerald Rapids 240 to 310 us, and take four threads 135 to 140, 16 114.
inline constexpr unsigned fewest_threads_not_to_merge = 4;
/// More bytes of keys are not even looked at by settle_shared().
inline constexpr std::uint64_t most_settled_bytes = std::uint64_t{1} << 25;
/// More are not looked at by settle_repeats_shared().
inline constexpr std::uint64_t most_settled_repeats_bytes = std::uint64_t{1} << 28;

/// Most bytes of keys: beyond, a partition into classes is faster, or one by several threads than the first splits by
/// one. One and two threads of an AMD Zen 5 have been measured, ms here and by classes on two: 2^22 u64 12 and 9; 2^23
/// u32 11 and 13, keys that crowd 4 to 12 and 8 to 15; 2^24 u32 27 and 21 with workspace that is there, 28 and 32
/// without. On 16 threads of a Xeon 2^20 u32 took as long as by counts, 2^22 u32 and 2^20 u64 half as long again. Keys
/// of 8 and 16 bits are counted.
[[nodiscard]] constexpr std::uint64_t most_shared_bytes(unsigned num_threads, std::uint64_t key_bytes) noexcept {
  if (key_bytes < 4) return std::uint64_t{num_threads > 2 ? 8U : 32U} << 20;
  if (num_threads > 2) return std::uint64_t{1} << 21;
  return std::uint64_t{key_bytes == 4 ? 32U : 24U} << 20;
}

/// Most bytes of keys that few threads sort so where the memory for classes would have to be taken anew. Ms by classes
/// with new memory, and in place, on two threads of a Granite Rapids: 2^24 u32 42 and 37, zipf 2 37 and 8; 2^23 u64 36
/// and 33; twice as many u64, measured earlier, 77 and 95. On one thread even keys take as long either way.
inline constexpr std::uint64_t most_bytes_in_place = std::uint64_t{1} << 26;
inline constexpr unsigned most_threads_in_place = 2;

/// Returns whether keys of this width can be sorted so: wide ones need vectors.
[[nodiscard]] bool has_shared_sort(std::uint64_t key_bytes);

/// Sorts any number of keys by `codec`, which folds no ties, on `num_threads` threads; of 8 or 16 bits fewer than 2^32.
/// Throws std::bad_alloc with the keys untouched.
void sort_shared(const keys::key_codec& codec, void* keys, std::uint64_t num_keys, unsigned num_threads);

/// Does so to keys of 16, 32 or 64 bits that are neither in order nor of a few values, and that repeat no value
/// often unless they `may_repeat`. Returns false, with nothing written, while another thread uses the memory that
/// the process keeps, or where there is none. Of keys of 16 bits there are 512 or more; it returns false, too, where
/// these repeat values too often, or are too many for the threads.
/// Many threads merge two long runs of integers, or one and its tail, in the memory of shared pairs.
[[nodiscard]] bool sort_others_shared(const keys::key_codec& codec, void* keys, std::uint64_t num_keys,
                                      unsigned num_threads, bool may_repeat);

/// Sorts keys that little work settles: those in order, but for a tail or a few keys anywhere, or in a few
/// ascending runs, and those of values that repeat often. Returns false, with nothing written, where a look says that
/// they are others, and where sort_others_shared() does.
[[nodiscard]] bool settle_shared(const keys::key_codec& codec, void* keys, std::uint64_t num_keys,
                                 unsigned num_threads);

/// Does so to keys of 32 or 64 bits, more than 512, of values that repeat and that do not seem to be in order, or of a
/// few runs: looks at the whole would take longer than they save.
[[nodiscard]] bool settle_repeats_shared(const keys::key_codec& codec, void* keys, std::uint64_t num_keys,
                                         unsigned num_threads);

/// Sorts any number of keys of 32 or 64 bits in place. Returns false, with nothing written, where they are a few runs,
/// or a long one and its tail, which are merged in less time with memory beside, and where sort_others_shared() does.
/// Throws std::bad_alloc with the keys untouched.
[[nodiscard]] bool sort_in_place_shared(const keys::key_codec& codec, void* keys, std::uint64_t num_keys,
                                        unsigned num_threads);

/// Gives back the memory that the process keeps for these calls, unless another thread uses it.
void release_shared_sort() noexcept;

/// Bytes that a sort of any number of keys takes, and that the process keeps for the next one; to merge runs, or a run
/// and its tail, it takes more, where that is there, and so it does for the keys that others are in order but for, a
/// fifth of all at most.
[[nodiscard]] std::uint64_t shared_sort_bytes(unsigned num_threads);

}  // namespace spansort::device::host
