// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "keys/codec.hpp"

namespace spansort::test {

/// Returns where the keys of a stable sort come from, by std::stable_sort.
template <class K>
std::vector<std::uint64_t> stable_order(const keys::codec_of<K>& codec, const std::vector<K>& keys) {
  std::vector<std::uint64_t> order(keys.size());
  std::iota(order.begin(), order.end(), std::uint64_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::uint64_t left, std::uint64_t right) {
    return codec.encode(keys[left]) < codec.encode(keys[right]);
  });
  return order;
}

}  // namespace spansort::test
