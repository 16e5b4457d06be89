// SPDX-License-Identifier: Apache-2.0
#include "cli/start_mpi.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <string_view>
#include <system_error>

#include "cli/common.hpp"
#include "cli/program.hpp"
#include "cli/sibling_program.hpp"

namespace cli {
namespace {

/// Returns whether this is node rank 0, as far as can be told without MPI: by what each starter of processes sets, Open
/// MPI's, PMIx and those of MPICH.
bool is_first_rank() {
  for (const char* const name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"}) {
    const char* const rank = std::getenv(name);
    if (rank != nullptr) return std::string_view(rank) == "0";
  }
  return true;
}

}  // namespace

bool wants_mpi(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--") return false;
    if (argument == "--mpi") return true;
  }
  return false;
}

int start_mpi_program(char** argv) {
  const start_failure failure = replace_by_sibling("spansort-mpi", argv);
  if (!is_first_rank()) return status_usage;
  print_message(
      failure.code == ENOENT
          ? fmt::format("--mpi: this build cannot sort over MPI: there is no {}; install MPI (Debian, Ubuntu: "
                        "libopenmpi-dev openmpi-bin) and build with -DSPANSORT_MPI=ON",
                        failure.program)
          : fmt::format("--mpi: cannot start {}: {}", failure.program, std::generic_category().message(failure.code)));
  return status_usage;
}

}  // namespace cli
