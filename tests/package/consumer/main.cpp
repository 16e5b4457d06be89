// SPDX-License-Identifier: Apache-2.0
// Sorts pairs with the installed library and checks order, stability and that no pair was lost.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <vector>

#include <spansort/spansort.hpp>

int main() {
  constexpr std::size_t num_keys = 20000;
  std::vector<float> keys(num_keys);
  std::vector<std::uint32_t> values(num_keys);
  std::iota(values.begin(), values.end(), 0U);
  for (const std::uint32_t i : values) keys[i] = static_cast<float>(i * 2654435761U % 1009) - 500.0F;

  std::vector<std::uint32_t> expected = values;
  std::ranges::stable_sort(expected, {}, [&](std::uint32_t i) { return keys[i]; });
  const std::vector<float> input = keys;

  spansort::sort_pairs(keys, values, {.devices = "host:3"});

  bool right = values == expected;
  for (std::size_t i = 0; i < num_keys; ++i) right = right && keys[i] == input[expected[i]];
  std::printf("Spansort %s: %s\n", SPANSORT_VERSION, right ? "right" : "wrong");
  return right ? 0 : 1;
}
