// SPDX-License-Identifier: Apache-2.0
#include "cli/start_bench.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "cli/common.hpp"
#include "cli/program.hpp"
#include "cli/sibling_program.hpp"

namespace cli {

namespace {

constexpr std::string_view verb = "bench";
constexpr std::string_view verb_of_comparison = "bench-compare";

}  // namespace

bool wants_bench(int argc, char** argv) { return argc > 1 && (argv[1] == verb || argv[1] == verb_of_comparison); }

int start_bench_program(char** argv) {
  std::string name(verb), comparison = "compare";
  std::vector<char*> arguments{name.data()};
  if (argv[1] == verb_of_comparison) arguments.push_back(comparison.data());
  for (char** next = argv + 2; *next != nullptr; ++next) arguments.push_back(*next);
  arguments.push_back(nullptr);
  const start_failure failure = replace_by_sibling("spansort-bench", arguments.data());
  print_message(failure.code == ENOENT ? fmt::format("bench: this build has no benchmarks: there is no {}; build with "
                                                     "-DSPANSORT_BUILD_BENCH=ON",
                                                     failure.program)
                                       : fmt::format("bench: cannot start {}: {}", failure.program,
                                                     std::generic_category().message(failure.code)));
  return status_usage;
}

}  // namespace cli
