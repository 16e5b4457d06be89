// SPDX-License-Identifier: Apache-2.0
// Two ways to bring other data into the order of its keys: move the values along, or ask for the order itself.
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include <spansort/sort.hpp>

namespace {

struct point {
  float x, y;
};

}  // namespace

int main() {
  // Values of any trivially copyable type travel with their keys; equal keys keep their order.
  std::vector<std::uint32_t> distances{30, 10, 20, 10};
  std::vector<point> points{{3, 0}, {1, 0}, {2, 0}, {0, 1}};
  spansort::sort_pairs(distances, points);
  for (const point& p : points) std::printf("(%g, %g) ", static_cast<double>(p.x), static_cast<double>(p.y));
  std::printf("\n");

  // Anything else (strings, several columns) is read through the stable order of the keys, which stay as they are.
  const std::vector<std::int64_t> years{1991, 1972, 1985};
  const std::vector<std::string> names{"Python", "C", "C++"};
  for (const std::uint64_t i : spansort::argsort(years)) std::printf("%s ", names[i].c_str());
  std::printf("\n");
}
