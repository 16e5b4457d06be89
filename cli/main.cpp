// SPDX-License-Identifier: Apache-2.0
// The command spansort: parses, runs one subcommand, turns exceptions into messages and exit statuses. Given --mpi, it
// is replaced by the program spansort-mpi, given `bench` by spansort-bench.
#include <fmt/format.h>

#include <csignal>
#include <exception>
#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "cli/common.hpp"
#include "cli/program.hpp"
#include "cli/start_bench.hpp"
#include "cli/start_mpi.hpp"

namespace {

int finish(const cli::outcome& end) {
  if (!end.message.empty()) cli::print_message(end.message);
  return cli::flush_output(end.status);
}

int parse_and_run(int argc, char** argv) {
  CLI::App app("Sorts keys in files over the devices of this machine.", "spansort");
  cli::command_action action;
  cli::add_all_commands(app, action);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& failure) {
    // Help on a verb that there is not would be that of the program.
    const bool names_verb = argc > 1 && argv[1][0] != '-';
    if (failure.get_exit_code() != 0 || (names_verb && app.get_subcommands().empty())) {
      return finish(cli::usage_outcome(app, failure));
    }
    return cli::flush_output(app.exit(failure));  // --help and --version
  }
  if (const std::string why = cli::why_not_alone(app); !why.empty()) {
    return finish({cli::status_usage, cli::is_first_rank() ? why : ""});
  }
  return finish(cli::run_caught(action));
}

}  // namespace

int main(int argc, char** argv) {
  cli::end_well_without_memory();
  cli::fill_standard_descriptors();
  // A limit on file size is then an error of write(), with a message and no half-written output.
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    std::vector<char*> arguments = cli::spelled_out(argc, argv);
    argc = static_cast<int>(arguments.size()) - 1;
    argv = arguments.data();
    if (cli::wants_bench(argc, argv)) return cli::start_bench_program(argv);
    if (cli::wants_mpi(argc, argv)) return cli::start_mpi_program(argv);
    return parse_and_run(argc, argv);
  } catch (const std::exception& failure) {
    return cli::end_by(failure);
  }
}
