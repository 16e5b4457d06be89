// SPDX-License-Identifier: Apache-2.0
#include "bench/mpi/cases.hpp"

#include <fmt/format.h>

#include <spansort/errors.hpp>

namespace bench {
namespace {

const std::vector<contender> all_sorts{{"distributed_rmg", 0}, {"distributed_lsd", 16}, {"distributed_sample_sort", 0}};
const std::vector<contender> all_widths{{"distributed_rmg", 0},  {"distributed_lsd", 4},
                                        {"distributed_lsd", 8},  {"distributed_lsd", 12},
                                        {"distributed_lsd", 16}, {"distributed_sample_sort", 0}};

void add_figure4(const settings& s, std::vector<sort_case>& cases) {
  for (const char* const distribution : {"uniform", "sorted", "sequential"}) {
    for (const unsigned smaller : {6U, 4U, 2U, 0U}) {
      cases.push_back({"figure4", distribution, std::uint64_t{1} << (s.log2_size - smaller), all_sorts});
    }
  }
}

}  // namespace

std::vector<sort_case> make_cases(const settings& s, unsigned num_nodes) {
  const std::uint64_t whole = std::uint64_t{1} << s.log2_size;
  std::vector<sort_case> cases;
  for (const std::string& suite : s.suites) {
    if (suite == "figure4") {
      add_figure4(s, cases);
    } else if (suite == "figure5") {
      for (const char* const distribution : {"uniform", "sorted"})
        cases.push_back({suite, distribution, whole, all_widths});
    } else if (suite == "figure6") {
      for (const char* const distribution : {"uniform", "sorted"})
        cases.push_back({suite, distribution, whole, all_sorts});
    } else if (suite == "figure7") {
      const std::uint64_t num_keys = num_nodes * (std::uint64_t{1} << s.log2_part);
      for (const char* const distribution : {"uniform", "sorted"})
        cases.push_back({suite, distribution, num_keys, all_sorts});
    } else if (suite == "quartiles") {
      for (const char* const distribution : {"uniform", "sorted"}) {
        cases.push_back({suite, distribution, std::uint64_t{1} << s.log2_keys, {}});
      }
    } else {
      throw spansort::invalid_argument(
          fmt::format("unknown suite '{}'; known: figure4, figure5, figure6, figure7, quartiles", suite));
    }
  }
  return cases;
}

}  // namespace bench
