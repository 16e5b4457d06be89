// SPDX-License-Identifier: Apache-2.0
// spansort bench compare: two JSON files of the same cases, before and after.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <spansort/errors.hpp>
#include <vector>

#include "bench/suites/results_file.hpp"
#include "bench/suites/suite.hpp"

namespace bench {
namespace {

using json = nlohmann::ordered_json;

/// Medians that differ by no more are the same, where the runs overlap.
constexpr double same_within = 0.03;

struct measured {
  std::vector<double> runs_ms;  ///< in rising order, not empty
  [[nodiscard]] double median_ms() const { return runs_ms[runs_ms.size() / 2]; }
};
/// Maps the name of case and contender to its runs.
using results = std::map<std::string, measured>;

results read(const std::string& path) {
  results found;
  for (const json& one : read_cases(path)) {
    for (const json& result : one.at("results")) {
      measured m{runs_of(result)};
      if (m.runs_ms.empty()) continue;
      std::ranges::sort(m.runs_ms);
      found[case_name(one) + " " + contender_name(result)] = std::move(m);
    }
  }
  return found;
}

/// Runs that do not overlap tell which side is faster; medians that are close say the same, where runs do overlap. What
/// is neither is unclear.
const char* verdict(const measured& before, const measured& after) {
  const bool overlap = before.runs_ms.front() <= after.runs_ms.back() && after.runs_ms.front() <= before.runs_ms.back();
  const bool is_close = std::abs(after.median_ms() / before.median_ms() - 1) <= same_within;
  if (overlap && is_close) return "same";
  if (overlap || is_close) return "unclear";
  return after.median_ms() < before.median_ms() ? "faster" : "slower";
}

}  // namespace

int compare_files(const std::string& before, const std::string& after) {
  const results old_ones = read(before);
  const results new_ones = read(after);
  if (std::ranges::none_of(old_ones, [&](const auto& one) { return new_ones.contains(one.first); })) {
    throw spansort::bad_input(before + " and " + after + " have no case and contender in common");
  }
  std::map<std::string, std::size_t> counts;
  const auto tell = [&](const std::string& what, const std::string& rest) {
    ++counts[what];
    fmt::print("{:<14} {}\n", what, rest);
  };
  for (const auto& [name, old_one] : old_ones) {
    const auto found = new_ones.find(name);
    if (found == new_ones.end()) {
      tell("only before", name);
      continue;
    }
    const double ratio = found->second.median_ms() / old_one.median_ms();
    tell(verdict(old_one, found->second), fmt::format("{:.3f} -> {:.3f} ms ({:+.1f} %)  {}", old_one.median_ms(),
                                                      found->second.median_ms(), (ratio - 1) * 100, name));
  }
  for (const auto& [name, new_one] : new_ones) {
    if (!old_ones.contains(name)) tell("only after", name);
  }
  std::string summary;
  for (const char* const what : {"faster", "slower", "same", "unclear", "only before", "only after"}) {
    summary += fmt::format("{}{} {}", summary.empty() ? "" : ", ", counts[what], what);
  }
  fmt::print("{}\n", summary);
  return 0;
}

}  // namespace bench
