// SPDX-License-Identifier: Apache-2.0
// The short way of small arrays of pairs and of small argsorts, as small_sort.hpp has it for keys alone.
#pragma once

#include <cstdint>

#include "device/host/records.hpp"
#include "device/host/scratch.hpp"
#include "device/segment_bounds.hpp"
#include "keys/codec.hpp"
#include "spansort/types.hpp"

namespace spansort::device::host {

/// More pairs are worth a device.
inline constexpr std::uint64_t most_small_pairs = std::uint64_t{1} << 16;
/// Wider values do not travel with their keys.
inline constexpr std::uint64_t widest_small_value = 16;

/// Sort a few pairs, or write the order of a few keys, by one network, stably and without scratch. Return false, with
/// nothing done, where they are fewer than two or too many, where checks would refuse them, and where the machine's
/// vectors are too narrow or the keys not of 32 or 64 bits.
[[nodiscard]] bool sort_smallest_pairs(key_type type, void* keys, void* values, std::uint64_t value_bytes,
                                       std::uint64_t num_keys, direction d);
[[nodiscard]] bool argsort_smallest(key_type type, const void* keys, void* indices, std::uint64_t index_bytes,
                                    std::uint64_t num_keys, direction d);

/// Leaves pairs whose keys are in order, and reverses those whose keys strictly descend. Returns false, with nothing
/// written, where they lie otherwise.
[[nodiscard]] bool settle_small_pairs(const keys::key_codec& codec, void* keys, void* values, std::uint64_t value_bytes,
                                      std::uint64_t num_keys);

/// Sorts `num_keys` keys, up to most_small_pairs, by `codec`, and moves values of 4, 8 or 16 bytes along. Stable.
/// Throws std::bad_alloc with both untouched.
void sort_small_pairs(const keys::key_codec& codec, void* keys, void* values, std::uint64_t value_bytes,
                      std::uint64_t num_keys);

/// Sorts pairs, up to in_cache_keys of their widths, into `result`, which is `from` itself or does not overlap it.
/// Their order is not looked at.
void sort_small_pairs_into(const keys::key_codec& codec, records from, records result, std::uint64_t value_bytes,
                           std::uint64_t num_keys, worker_scratch& scratch);

/// Writes the order of keys that are in order, or strictly descend. Returns false, with nothing written, where they lie
/// otherwise.
[[nodiscard]] bool settle_small_argsort(const keys::key_codec& codec, const void* keys, void* indices,
                                        std::uint64_t index_bytes, std::uint64_t num_keys);

/// Writes the stable order of `num_keys` keys, up to most_small_pairs, as indices of 4 or 8 bytes. Throws
/// std::bad_alloc.
void argsort_small(const keys::key_codec& codec, const void* keys, void* indices, std::uint64_t index_bytes,
                   std::uint64_t num_keys);

/// Do the same to each segment of the range by itself, but leave those of more than `most_keys` keys as they are; the
/// indices count from 0 in each segment. Throw std::bad_alloc with each segment sorted or untouched.
void sort_small_pairs_segments(const keys::key_codec& codec, void* keys, void* values, std::uint64_t value_bytes,
                               const segment_bounds& bounds, segment_range range, std::uint64_t most_keys);
void argsort_small_segments(const keys::key_codec& codec, const void* keys, void* indices, std::uint64_t index_bytes,
                            const segment_bounds& bounds, segment_range range, std::uint64_t most_keys);

}  // namespace spansort::device::host
