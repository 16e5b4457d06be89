// SPDX-License-Identifier: Apache-2.0
// The short way of small arrays of keys alone: the calling thread sorts them in scratch that it keeps. No device is
// opened, no thread woken, and nothing allocated once the thread has sorted as many keys before.
#pragma once

#include <cstdint>

#include "device/segment_bounds.hpp"
#include "keys/codec.hpp"

namespace spansort::device::host {

/// Larger arrays are worth a device; the scratch that a thread keeps is bounded by it.
inline constexpr std::uint64_t most_small_bytes = std::uint64_t{1} << 19;
/// The most memory that a thread keeps until it ends.
inline constexpr std::uint64_t most_small_scratch_bytes = std::uint64_t{9} << 20;

struct worker_scratch;
/// The calling thread's, for sorts by digits and of pairs, which it keeps until it ends. Throws std::bad_alloc.
[[nodiscard]] worker_scratch& kept_worker_scratch();

/// Sorts keys that one sorting network takes, without scratch. Returns false, with nothing done, where they are fewer
/// than two or too many, where checks would refuse them, or where the machine's vectors are too narrow.
[[nodiscard]] bool sort_smallest(key_type type, void* keys, std::uint64_t num_keys, direction d);

/// Sorts `num_keys` keys of up to most_small_bytes by `codec`, which folds no ties. Throws std::bad_alloc with the keys
/// untouched.
void sort_small(const keys::key_codec& codec, void* keys, std::uint64_t num_keys);

/// This says what one thread leaves to several.
struct left_to_others {
  bool repeated = false;  ///< keys of values that repeat, but for those of a few values alone
  bool runs = false;      ///< keys of a few ascending runs
};

/// Does so to keys in order, but for a short tail, to those of a few ascending runs, and to those of values that
/// repeat, but for what is left to others. Returns false, with nothing written, where they are others. Keys have 16, 32
/// or 64 bits, and the machine a vector sort; of 16 bits nothing is left, and those of runs or with a tail are others.
[[nodiscard]] bool settle_small(const keys::key_codec& codec, void* keys, std::uint64_t num_keys, left_to_others left);

/// Sorts each segment of the range by itself, as sort_small() does, but leaves those of more than `most_keys` keys as
/// they are. Throws std::bad_alloc with each segment sorted or untouched.
void sort_small_segments(const keys::key_codec& codec, void* keys, const segment_bounds& bounds, segment_range range,
                         std::uint64_t most_keys);

}  // namespace spansort::device::host
