// SPDX-License-Identifier: Apache-2.0
#include "cli/program.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <exception>
#include <new>
#include <string_view>
#include <system_error>

#include "cli/common.hpp"
#include "spansort/errors.hpp"
#include "spansort/version.hpp"

namespace cli {
namespace {

constexpr const char* footer =
    R"(IN and OUT: .npy by its header, anything else raw little-endian keys of --type; - is a stream.
An output appears whole or not at all; it may be the input.

Exit status:
  0  done                                    5  device absent, unusable or lost
  1  check: the keys are out of order        6  out of memory: bytes needed and available are named
  2  usage: a flag is unknown or senseless   7  a node rank of --mpi was lost
  3  input is not what it should be: wrong   8  internal check failed, the output was withheld
     size, damaged header, a directory     128+n  ended by signal n
  4  a file cannot be opened, read or written: missing, no permission, disk full

Over MPI: mpirun -n 4 spansort sort --mpi IN -o OUT; argsort and summary likewise. See `spansort sort --mpi --help`.

Benchmarks, where they are installed: spansort bench --help.

Example: spansort gen 1000000 --type f32 --distribution normal -o x.npy
         spansort sort x.npy -o y.npy --devices host:4 --verify && spansort check y.npy)";

}  // namespace

void fill_standard_descriptors() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(fd, F_GETFD) >= 0 || errno != EBADF) continue;
    // The lowest free number is taken, which is fd.
    static_cast<void>(::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY));
  }
}

void add_program_texts(CLI::App& app) {
  app.set_version_flag("--version", "spansort " SPANSORT_VERSION);
  app.require_subcommand(1);
  app.footer(footer);
}

outcome run_caught(const command_action& action) {
  try {
    return {action(), ""};
  } catch (const spansort::error& failure) {
    return {failure.exit_status(), failure.what()};
  } catch (const std::bad_alloc&) {
    return {status_memory, "out of memory"};
  } catch (const std::exception& failure) {
    // oneTBB tells of a thread that the system refuses by a runtime_error of its own.
    if (std::string_view(failure.what()).find("pthread_create") != std::string_view::npos) {
      return {status_device, fmt::format("the system refuses threads: {}", failure.what())};
    }
    return {status_internal, fmt::format("internal error: {}", failure.what())};
  }
}

outcome usage_outcome(const CLI::App& app, const CLI::ParseError& failure) {
  std::string command = "spansort";
  if (app.get_subcommands().empty() && !app.remaining().empty()) {
    return {status_usage,
            fmt::format("'{}' is unknown, a subcommand is expected\nTry '{} --help'.", app.remaining()[0], command)};
  }
  for (const CLI::App* sub : app.get_subcommands()) command += " " + sub->get_name();
  return {status_usage, fmt::format("{}\nTry '{} --help'.", failure.what(), command)};
}

void print_message(const std::string& message) { fmt::print(stderr, "spansort: {}\n", message); }

int flush_output(int status) {
  errno = 0;
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return status;
  const std::string why = errno == 0 ? "write error" : std::generic_category().message(errno);
  print_message(fmt::format("cannot write standard output: {}", why));
  return status == status_ok || status == status_disorder ? status_io : status;
}

}  // namespace cli
