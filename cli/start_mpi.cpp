// SPDX-License-Identifier: Apache-2.0
#include "cli/start_mpi.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <system_error>

#include "cli/common.hpp"
#include "cli/program.hpp"
#include "cli/sibling_program.hpp"

namespace cli {
namespace {

/// Returns the number that an environment variable holds, 0 where it holds none.
std::uint64_t number_in(const char* name) {
  const char* const text = std::getenv(name);
  if (text == nullptr) return 0;
  std::uint64_t number = 0;
  std::from_chars(text, text + std::strlen(text), number);
  return number;
}

/// Returns how many processes were started together, as each starter tells its own: Open MPI, MPICH and its relatives,
/// MVAPICH, Slurm. SLURM_NTASKS would not do, for the one process of a batch script has it too. 1 where none tells.
std::uint64_t num_started_together() {
  for (const char* const name :
       {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE", "PALS_SIZE", "SLURM_STEP_NUM_TASKS"}) {
    if (const std::uint64_t size = number_in(name); size > 1) return size;
  }
  return number_in("PMIX_RANK") + 1;
}

}  // namespace

bool is_first_rank() {
  for (const char* const name :
       {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK", "PALS_RANKID", "SLURM_PROCID"}) {
    const char* const rank = std::getenv(name);
    if (rank != nullptr) return std::string_view(rank) == "0";
  }
  return true;
}

std::string why_not_alone(const CLI::App& app) {
  const auto given = app.get_subcommands();
  if (given.empty() || given[0]->get_option_no_throw("--mpi") == nullptr) return "";
  for (const char* const flag : {"--no-mpi", "--check", "-C", "--dry-run"}) {
    const CLI::Option* const option = given[0]->get_option_no_throw(flag);
    if (option != nullptr && option->count() != 0) return "";
  }
  const std::uint64_t size = num_started_together();
  if (size < 2) return "";
  return fmt::format(
      "{0}: mpirun or srun has started {1} processes, of which each would do all of this by itself; with --mpi they do "
      "it together: spansort {0} --mpi ..., with --no-mpi each works alone, on a file of its own",
      given[0]->get_name(), size);
}

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
          ? fmt::format("--mpi: this build cannot sort over MPI: there is no {}; install the package "
                        "spansort-mpi, or MPI (Debian, Ubuntu: libopenmpi-dev openmpi-bin) and build with "
                        "-DSPANSORT_MPI=ON",
                        failure.program)
          : fmt::format("--mpi: cannot start {}: {}", failure.program, std::generic_category().message(failure.code)));
  return status_usage;
}

}  // namespace cli
