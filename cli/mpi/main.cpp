// SPDX-License-Identifier: Apache-2.0
// The program spansort-mpi, by which spansort is replaced when it is given --mpi: a node rank of those that mpirun
// starts. All of them parse, agree that they were asked for the same, and do it together.
#include <fmt/format.h>

#include <csignal>
#include <exception>
#include <string>

#include "cli/commands.hpp"
#include "cli/common.hpp"
#include "cli/mpi/agreement.hpp"
#include "cli/mpi/cluster_flags.hpp"
#include "cli/mpi/termination.hpp"
#include "cli/mpi/world.hpp"
#include "cli/program.hpp"
#include "spansort/errors.hpp"

namespace {

struct parsed_arguments {
  cli::outcome end;           ///< a usage error, or well
  cli::cluster_request what;  ///< nothing to run where help is asked for
};

bool runs_over_mpi(const CLI::App& app) { return !app.get_subcommands().empty() || app.remaining().empty(); }

/// --help and --version: printed by one of all.
parsed_arguments answer(CLI::App& app, const CLI::ParseError& question, const cli::mpi_world& world) {
  if (world.node_rank() == 0) static_cast<void>(app.exit(question));
  return {{}, {{{"command", "help"}}, {}}};
}

parsed_arguments parse(int argc, char** argv, const cli::mpi_world& world) {
  CLI::App app("Sorts keys in files over the processes that mpirun starts.", "spansort");
  cli::cluster_action action;
  cli::add_all_cluster_commands(app, action);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& failure) {
    if (failure.get_exit_code() == 0) return answer(app, failure, world);
    if (runs_over_mpi(app)) return {cli::usage_outcome(app, failure), {}};
    return {{cli::status_usage, fmt::format("{}: --mpi goes with sort, argsort and summary", app.remaining()[0])}, {}};
  }
  parsed_arguments parsed;
  parsed.end = cli::run_caught([&] {
    parsed.what = action();
    return cli::status_ok;
  });
  return parsed;
}

/// Runs the subcommand if all node ranks agree on it. The outcome is the same on all of them.
cli::outcome agree_and_run(const parsed_arguments& parsed, const cli::mpi_world& world) {
  cli::outcome end = cli::agree_on_outcome(world, {parsed.end, false});
  if (end.status != cli::status_ok) return end;
  end = cli::compare_settings(world, parsed.what.settings);
  if (end.status != cli::status_ok || !parsed.what.run) return end;
  return parsed.what.run(world);
}

int run(int argc, char** argv) {
  const cli::mpi_world world(argc, argv);
  const cli::outcome end = agree_and_run(parse(argc, argv, world), world);
  int status = end.status;
  if (world.node_rank() == 0) {
    if (!end.message.empty()) cli::print_message(end.message);
    status = cli::flush_output(status);
  }
  world.finalize();
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  cli::end_well_without_memory();
  cli::fill_standard_descriptors();
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    cli::delay_sigterm();
    return run(argc, argv);
  } catch (const spansort::error& failure) {
    cli::print_message(failure.what());
    return failure.exit_status();
  } catch (const std::exception& failure) {
    return cli::end_by(failure);
  }
}
