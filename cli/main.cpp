// SPDX-License-Identifier: Apache-2.0
// The command spansort: parses, runs one subcommand, turns exceptions into messages and exit statuses.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <system_error>

#include "cli/commands.hpp"
#include "cli/common.hpp"
#include "spansort/errors.hpp"
#include "spansort/version.hpp"

namespace {

constexpr const char* footer =
    R"(IN and OUT: .npy by its header, anything else raw little-endian keys of --type; - is a stream.
An output appears whole or not at all; it may be the input.

Exit status:
  0  done                                    5  device absent, unusable or lost
  1  check: the keys are out of order        6  out of memory: bytes needed and available are named
  2  usage: a flag is unknown or senseless   7  a peer was lost
  3  input is not what it should be: wrong   8  internal check failed, the output was withheld
     size, damaged header, a directory     128+n  ended by signal n
  4  a file cannot be opened, read or written: missing, no permission, disk full

Example: spansort gen 1000000 --type f32 --distribution normal -o x.npy
         spansort sort x.npy -o y.npy --devices cpu:4 --verify && spansort check y.npy)";

// A file opened while 0, 1 or 2 are closed would get that number, and be written or read for a standard stream. Each
// is filled with what fails when it is used.
void fill_standard_descriptors() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(fd, F_GETFD) >= 0 || errno != EBADF) continue;
    // The lowest free number is taken, which is fd.
    static_cast<void>(::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY));
  }
}

int report_failure(const std::string& message, int status) {
  fmt::print(stderr, "spansort: {}\n", message);
  return status;
}

int run(const cli::command_action& action) {
  try {
    return action();
  } catch (const spansort::error& failure) {
    return report_failure(failure.what(), failure.exit_status());
  } catch (const std::bad_alloc&) {
    return report_failure("out of memory", cli::status_memory);
  } catch (const std::exception& failure) {
    return report_failure(fmt::format("internal error: {}", failure.what()), cli::status_internal);
  }
}

// What was printed may still fail to arrive.
int flush_output(int status) {
  errno = 0;
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return status;
  const std::string why = errno == 0 ? "write error" : std::generic_category().message(errno);
  report_failure(fmt::format("cannot write standard output: {}", why), cli::status_io);
  return status == cli::status_ok || status == cli::status_disorder ? cli::status_io : status;
}

int report_usage(const CLI::App& app, const CLI::ParseError& failure) {
  std::string command = "spansort";
  if (app.get_subcommands().empty() && !app.remaining().empty()) {
    fmt::print(stderr, "spansort: '{}' is unknown, a subcommand is expected\nTry '{} --help'.\n", app.remaining()[0],
               command);
    return cli::status_usage;
  }
  for (const CLI::App* sub : app.get_subcommands()) command += " " + sub->get_name();
  fmt::print(stderr, "spansort: {}\nTry '{} --help'.\n", failure.what(), command);
  return cli::status_usage;
}

int parse_and_run(int argc, char** argv) {
  CLI::App app("Sorts keys in files over the devices of this machine.", "spansort");
  cli::command_action action;
  app.set_version_flag("--version", "spansort " SPANSORT_VERSION);
  app.require_subcommand(1);
  app.footer(footer);
  cli::add_sort_command(app, action);
  cli::add_argsort_command(app, action);
  cli::add_check_command(app, action);
  cli::add_gen_command(app, action);
  cli::add_devices_command(app, action);
  cli::add_summary_command(app, action);
  cli::add_plan_command(app, action);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& outcome) {
    if (outcome.get_exit_code() != 0) return report_usage(app, outcome);
    return flush_output(app.exit(outcome));  // --help and --version
  }
  return flush_output(run(action));
}

}  // namespace

int main(int argc, char** argv) {
  fill_standard_descriptors();
  // A limit on file size is then an error of write(), with a message and no half-written output.
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    return parse_and_run(argc, argv);
  } catch (const std::exception& failure) {
    return report_failure(fmt::format("internal error: {}", failure.what()), cli::status_internal);
  }
}
