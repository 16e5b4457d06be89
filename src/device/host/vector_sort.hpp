// SPDX-License-Identifier: Apache-2.0
// Sorting keys alone on one thread, inside its caches, in vector instructions. Keys that lie evenly between their least
// and greatest go to slots, each of which a sorting network finishes in registers; the others are sorted by a quicksort
// that ends in the same networks. The networks are those of vqsort (Blacher,
// Giesen, Sanders, Wassenberg: arXiv 2205.05982, section 2.2): columns first, then merges of neighbouring columns.
#pragma once

#include <cstdint>
#include <span>
#include <utility>

#include "device/host/class_blocks.hpp"
#include "device/host/scratch.hpp"
#include "keys/codec.hpp"

namespace spansort::device::host {

/// Arrays of a worker; each has room for 64 bytes more.
template <class K>
struct vector_sort_scratch {
  K* first = nullptr;
  K* second = nullptr;
  std::uint64_t num_keys = 0;         ///< room of the first: as many as the sort takes
  std::uint64_t num_second_keys = 0;  ///< room of the second, at least the same
  std::uint32_t* cursors = nullptr;
  std::uint64_t num_cursors = 0;
};

/// Returns the arrays that a worker's scratch has for it.
template <class K>
[[nodiscard]] vector_sort_scratch<K> vector_scratch_in(const worker_scratch& scratch) noexcept {
  return {reinterpret_cast<K*>(scratch.records[0].get()),
          reinterpret_cast<K*>(scratch.records[1].get()),
          max_local_bytes / sizeof(K),
          max_local_bytes / sizeof(K),
          scratch.digit_counts.get(),
          (std::uint64_t{1} << max_digit_bits) * max_local_digits};
}

/// The second array holds all slots of as many keys as fit the first when it has so many times its room.
inline constexpr std::uint64_t vector_sort_spread = 4;
/// The most keys that are sorted without scratch.
inline constexpr std::uint64_t vector_sort_unscratched = 64;

/// Returns whether this machine's vectors are wide enough for vector_sort() to be the fastest.
[[nodiscard]] bool has_vector_sort();

/// Sorts `num_keys` <= scratch.num_keys keys of `from` by `codec`, which folds no ties, into `result`, which is `from`
/// itself or does not overlap it. Not stable: equal keys are equal bits. K is std::uint32_t or std::uint64_t.
template <class K>
void vector_sort(const keys::codec_of<K>& codec, const K* from, K* result, std::uint64_t num_keys,
                 const vector_sort_scratch<K>& scratch);

/// Sorts any number of keys on one thread. `keys` and `other`, of num_keys each, are overwritten; `result` is one of
/// them or overlaps neither. Scratch as for vector_sort().
template <class K>
void vector_sort_large(const keys::codec_of<K>& codec, K* keys, K* other, K* result, std::uint64_t num_keys,
                       const vector_sort_scratch<K>& scratch);

/// A part of an array that several threads sort in place: a range of encoded keys, where it belongs in the result.
template <class K>
struct vector_part {
  K* keys = nullptr;  ///< as vectors compare them
  std::uint64_t num_keys = 0;
  K least = 0;  ///< as the keys
  K greatest = 0;
  unsigned depth = 0;  ///< of splits left

  [[nodiscard]] bool can_be_split() const noexcept { return least != greatest && depth != 0; }
};

/// Encodes keys in place. Returns them all as the part to begin with.
template <class K>
[[nodiscard]] vector_part<K> vector_sort_begin(const keys::codec_of<K>& codec, K* keys, std::uint64_t num_keys);

/// Splits a part that can be split into its lower and its upper keys, which from then on are sorted apart. Keys between
/// the two, if any, are where they belong, and decoded.
template <class K>
[[nodiscard]] std::pair<vector_part<K>, vector_part<K>> vector_sort_split(const keys::codec_of<K>& codec,
                                                                          const vector_part<K>& part);

/// Does what both do with one read less: encodes 64 keys or more in place and splits them. Where they are a few values,
/// one of the parts may be all of them.
template <class K>
[[nodiscard]] std::pair<vector_part<K>, vector_part<K>> vector_sort_split_first(const keys::codec_of<K>& codec, K* keys,
                                                                                std::uint64_t num_keys);

/// Sorts and decodes a part of any size into its place.
template <class K>
void vector_sort_finish(const keys::codec_of<K>& codec, const vector_part<K>& part,
                        const vector_sort_scratch<K>& scratch);

/// Sorts the `num_keys` <= scratch.num_keys keys that lie in `runs`, which `result` does not overlap.
template <class K>
void vector_sort_runs(const keys::codec_of<K>& codec, std::span<const key_run<K>> runs, K* result,
                      std::uint64_t num_keys, const vector_sort_scratch<K>& scratch);

}  // namespace spansort::device::host
