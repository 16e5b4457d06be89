// SPDX-License-Identifier: Apache-2.0
#include "cli/start_bench.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <string_view>
#include <system_error>

#include "cli/common.hpp"
#include "cli/program.hpp"
#include "cli/sibling_program.hpp"

namespace cli {

bool wants_bench(int argc, char** argv) { return argc > 1 && std::string_view(argv[1]) == "bench"; }

int start_bench_program(char** argv) {
  const start_failure failure = replace_by_sibling("spansort-bench", argv + 1);
  print_message(failure.code == ENOENT ? fmt::format("bench: this build has no benchmarks: there is no {}; build with "
                                                     "-DSPANSORT_BUILD_BENCH=ON",
                                                     failure.program)
                                       : fmt::format("bench: cannot start {}: {}", failure.program,
                                                     std::generic_category().message(failure.code)));
  return status_usage;
}

}  // namespace cli
