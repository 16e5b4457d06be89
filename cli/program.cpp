// SPDX-License-Identifier: Apache-2.0
#include "cli/program.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <string_view>
#include <system_error>

#include "cli/common.hpp"
#include "cli/interrupts.hpp"
#include "spansort/errors.hpp"
#include "spansort/version.hpp"

namespace cli {
namespace {

constexpr const char* footer =
    R"(Help on a verb and its flags: spansort help VERB, or spansort VERB --help.

IN and OUT: .npy by its header, anything else raw little-endian keys of --type; - is a stream.
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

constexpr const char* version_text = "spansort " SPANSORT_VERSION;

struct status_row {
  int status;
  const char* meaning;
};
constexpr std::array status_rows{
    status_row{status_ok, "done"},
    status_row{status_disorder, "the keys are out of order"},
    status_row{status_usage, "a flag is unknown or senseless"},
    status_row{status_input, "the input is not what it should be: wrong size, damaged header, another format"},
    status_row{status_io, "a file cannot be opened, read or written: missing, no permission, disk full"},
    status_row{status_device, "a device is absent, unusable or lost"},
    status_row{status_memory, "out of memory; what is needed and what there is are named"},
    status_row{status_peer, "a node rank of --mpi was lost"},
    status_row{status_internal, "an internal check failed, and the output was withheld"},
};

}  // namespace

void fill_standard_descriptors() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(fd, F_GETFD) >= 0 || errno != EBADF) continue;
    // The lowest free number is taken, which is fd.
    static_cast<void>(::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY));
  }
}

void end_well_without_memory() noexcept {
  std::set_terminate([] {
    try {
      if (const std::exception_ptr thrown = std::current_exception()) std::rethrow_exception(thrown);
    } catch (const std::bad_alloc& failure) {
      remove_temporary_now();
      ::_exit(end_by(failure));
    } catch (...) {
    }
    std::abort();
  });
}

void add_program_texts(CLI::App& app) {
  app.set_version_flag("-V,--version", version_text);
  // Each verb takes it too; its help need not say so.
  for (CLI::App* const verb : app.get_subcommands({})) verb->set_version_flag("-V,--version", version_text)->group("");
  app.require_subcommand(1);
  app.footer(footer);
}

std::string verb_footer(const std::vector<std::string>& examples, const std::vector<int>& statuses) {
  std::string text = examples.size() == 1 ? "Example:\n" : "Examples:\n";
  for (const std::string& example : examples) text += fmt::format("  {}\n", example);
  text += "\nExit status:\n";
  for (const status_row& row : status_rows) {
    if (std::ranges::find(statuses, row.status) == statuses.end()) continue;
    text += fmt::format("  {}  {}\n", row.status, row.meaning);
  }
  text.pop_back();
  return text;
}

void add_help_command(CLI::App& app) {
  CLI::App* const command = app.add_subcommand("help", "Help on a verb: spansort help sort");
  command->allow_extras();
}

std::vector<char*> spelled_out(int argc, char** argv) {
  static std::string help_flag = "--help";
  std::vector<char*> arguments(argv, argv + argc);
  if (argc > 1 && std::string_view(argv[1]) == "help") {
    arguments.erase(arguments.begin() + 1);
    const bool names_verb = argc > 2 && std::string_view(argv[2]) != "help";
    if (!names_verb) arguments.resize(1);
    arguments.insert(arguments.begin() + (names_verb ? 2 : 1), help_flag.data());
  }
  arguments.push_back(nullptr);
  return arguments;
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

// Names of files may hold what moves a terminal's cursor or changes its colours. Of several lines each is one of ours.
// Nothing here allocates: the message may be that memory has ended.
void print_message(std::string_view message, std::string_view kind) noexcept {
  std::array<char, 512> line;
  std::size_t length = 0;
  const auto add = [&](std::string_view text) {
    for (const char c : text) {
      line[length++] = c;
      if (length < line.size() && c != '\n') continue;
      static_cast<void>(!::write(STDERR_FILENO, line.data(), length));
      length = 0;
    }
  };
  add("spansort: ");
  add(kind);
  for (std::size_t i = 0; i < message.size(); ++i) {
    const auto c = static_cast<unsigned char>(message[i]);
    // The other controls of Unicode are two bytes of UTF-8.
    const bool is_wide_control = c == 0xc2 && i + 1 < message.size() && (message[i + 1] & 0xe0) == 0x80;
    if ((c >= ' ' && c != 127 && !is_wide_control) || c == '\n' || c == '\t') {
      add(message.substr(i, 1));
    } else {
      add("?");
      if (is_wide_control) ++i;
    }
  }
  add("\n");
}

int end_by(const std::exception& failure) noexcept {
  if (dynamic_cast<const std::bad_alloc*>(&failure) != nullptr) {
    print_message("out of memory");
    return status_memory;
  }
  print_message(failure.what(), "internal error: ");
  return status_internal;
}

int flush_output(int status) {
  errno = 0;
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return status;
  const std::string why = errno == 0 ? "write error" : std::generic_category().message(errno);
  print_message(fmt::format("cannot write standard output: {}", why));
  return status == status_ok || status == status_disorder ? status_io : status;
}

}  // namespace cli
