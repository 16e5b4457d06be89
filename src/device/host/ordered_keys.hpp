// SPDX-License-Identifier: Apache-2.0
// Keys alone that one thread need not sort: those that lie in order, or in reverse, and those of a few values.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "device/host/few_values.hpp"
#include "device/host/records.hpp"
#include "device/host/vector_kernels.hpp"

namespace spansort::device::host {

/// Leaves sorted keys, and reverses those that lie the other way round. Returns whether they were either.
template <class K>
bool finish_ordered(const keys::codec_of<K>& codec, K* keys, std::uint64_t num_keys) {
  constexpr std::uint64_t first_look = 33;
  if (num_keys > first_look && !scan_order(codec, keys, first_look).any()) return false;
  const order_flags order = scan_order(codec, keys, num_keys);
  if (!order.ascending && order.descending) std::reverse(keys, keys + num_keys);
  return order.any();
}

/// Writes keys of a few distinct values by their counts. Returns false, with nothing written, where there are others.
template <class K>
bool sort_few_values(const keys::codec_of<K>& codec, K* keys, std::uint64_t num_keys) {
  const few_values<K> few = sample_few_values(bijective_order<K>(codec), keys, num_keys);
  if (few.count == 0) return false;
  std::array<std::uint64_t, most_few_values> counts = {};
  if (!count_values(keys, num_keys, few.span(), counts.data())) return false;
  for (unsigned v = 0; v < few.count; ++v) keys = std::fill_n(keys, counts[v], few.keys[v]);
  return true;
}

}  // namespace spansort::device::host
