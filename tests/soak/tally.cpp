// SPDX-License-Identifier: Apache-2.0
#include "soak/tally.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <numeric>
#include <sstream>

namespace spansort::soak {

void tally::count_case(const std::string& words) {
  ++num_cases_;
  std::istringstream all(words);
  for (std::string word; all >> word;) {
    const std::size_t colon = word.find(':');
    if (colon == std::string::npos) continue;
    const std::size_t end = std::stoul(word.substr(colon + 1));
    if (end < num_endings) ++endings_[word.substr(0, colon)][end];
  }
}

void tally::print_table() const {
  fmt::print("{:<18}{:>10}", "operation", "calls");
  for (std::size_t i = 0; i < num_endings; ++i) fmt::print("{:>15}", name(static_cast<ending>(i)));
  fmt::print("\n");
  for (const auto& [operation, counts] : endings_) {
    fmt::print("{:<18}{:>10}", operation, std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}));
    for (const std::uint64_t count : counts) fmt::print("{:>15}", count);
    fmt::print("\n");
  }
  std::fflush(stdout);
}

}  // namespace spansort::soak
