// SPDX-License-Identifier: Apache-2.0
// Structs in the order of their members: no comparator, but the keys themselves, as many as there are.
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include <spansort/sort_by.hpp>

namespace {

struct trade {
  std::array<char, 8> symbol;  // fixed-width bytes are keys, too
  std::uint32_t quantity;
  double price;
};

struct person {
  std::string name;
  std::chrono::sys_days birthday;
};

}  // namespace

int main() {
  std::vector<trade> trades{{{"MSFT"}, 100, 411.5}, {{"AAPL"}, 50, 190.25}, {{"AAPL"}, 300, 189.5}};
  spansort::sort_by(trades, &trade::symbol, spansort::descending(&trade::quantity));
  for (const trade& t : trades) std::printf("%s %u  ", t.symbol.data(), t.quantity);
  std::printf("\n");

  // A key may be computed; options come first.
  const auto volume = [](const trade& t) { return t.quantity * t.price; };
  spansort::sort_by({.devices = "cpu"}, trades, spansort::descending(volume));
  for (const trade& t : trades) std::printf("%s %g  ", t.symbol.data(), volume(t));
  std::printf("\n");

  // Elements that cannot be moved as bytes, such as those with strings, are read through their order.
  using namespace std::chrono;
  const std::vector<person> people{{"Grace", sys_days(December / 9 / 1906)}, {"Ada", sys_days(December / 10 / 1815)}};
  for (const std::uint64_t i : spansort::argsort_by(people, &person::birthday))
    std::printf("%s ", people[i].name.c_str());
  std::printf("\n");
}
