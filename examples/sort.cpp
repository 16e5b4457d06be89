// SPDX-License-Identifier: Apache-2.0
// The shortest use: sort a vector, ascending and descending.
#include <cstdio>
#include <vector>

#include <spansort/sort.hpp>

int main() {
  std::vector<float> keys{2.5F, -1.0F, 7.25F, 0.0F, 3.0F};

  spansort::sort(keys);
  for (const float key : keys) std::printf("%g ", static_cast<double>(key));
  std::printf("\n");

  spansort::sort(keys, spansort::direction::descending);
  for (const float key : keys) std::printf("%g ", static_cast<double>(key));
  std::printf("\n");
}
