// SPDX-License-Identifier: Apache-2.0
// This header says what the programs spansort and spansort-mpi have in common around their subcommands: help,
// exceptions to messages and exit statuses, standard streams.
#pragma once

#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands.hpp"

namespace cli {

/// How a program ends. The message says why it is not well, and is empty otherwise.
struct outcome {
  int status = 0;
  std::string message;
};

/// Adds --version, also to each verb that is there already, --help's last words, and that a verb is needed.
void add_program_texts(CLI::App& app);

/// Returns the last words of a verb's help: its examples, one a line, and the exit statuses that it may end with.
[[nodiscard]] std::string verb_footer(const std::vector<std::string>& examples, const std::vector<int>& statuses);

/// Adds `help VERB`, for the list of verbs; spelled_out() does it.
void add_help_command(CLI::App& app);

/// Returns the arguments with `help VERB` written as `VERB --help`, and a null pointer behind them, as main() has them.
[[nodiscard]] std::vector<char*> spelled_out(int argc, char** argv);

/// Runs it; an exception becomes its exit status and message.
[[nodiscard]] outcome run_caught(const command_action& action);

/// Status 2, what was wrong, and whose help to ask.
[[nodiscard]] outcome usage_outcome(const CLI::App& app, const CLI::ParseError& failure);

/// "spansort: ..." on standard error.
void print_message(std::string_view message, std::string_view kind = "") noexcept;

/// Says why the program ends that nobody else has caught, without allocating. Returns the status.
[[nodiscard]] int end_by(const std::exception& failure) noexcept;

/// Returns the status with which the program ends: that of output which fails to arrive, with a message, where `status`
/// is none of trouble.
[[nodiscard]] int flush_output(int status);

/// Has the program end with its status and message where memory ends in what must not throw, such as the destructors
/// and comparisons of the libraries it uses.
void end_well_without_memory() noexcept;

/// A file opened while 0, 1 or 2 are closed would get that number, and be written or read for a standard stream. Each
/// is filled with what fails when it is used.
void fill_standard_descriptors();

}  // namespace cli
