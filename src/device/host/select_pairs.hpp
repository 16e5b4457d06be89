// SPDX-License-Identifier: Apache-2.0
// This header takes the pairs of a part of the sorted order out of an input, in input order: whole vectors are compared
// with the bounds of the part and compressed. Threads that take a part each read all keys, and have nothing to tell one
// another.
#pragma once

#include <cstdint>

#include "device/host/records.hpp"
#include "keys/codec.hpp"

namespace spansort::device::host {

/// Encoded keys from the least to the greatest one.
template <class K>
struct key_interval {
  K least = 0;
  K greatest = 0;
};

/// There is so much more room for pairs than is asked for.
inline constexpr std::uint64_t spare_selected_pairs = 16;

/// Writes those of `num_keys` pairs whose encoded keys are in the interval to `to`, which has room for `room` pairs and
/// the spare ones, and does not overlap `from`. Where `from.values` are null, positions stand for the values, counted
/// from `first` on. Returns how many pairs these are; where it has found more than `room` it may end. K is
/// std::uint32_t or std::uint64_t, V value4 or value8.
template <class K, class V>
[[nodiscard]] std::uint64_t select_pairs(const keys::codec_of<K>& codec, split_records<K, V> from,
                                         std::uint64_t num_keys, std::uint64_t first, key_interval<K> wanted,
                                         split_records<K, V> to, std::uint64_t room);

}  // namespace spansort::device::host
