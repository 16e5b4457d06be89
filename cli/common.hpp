// SPDX-License-Identifier: Apache-2.0
// Flags that several subcommands share, and what becomes of them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands.hpp"
#include "cli/foreign_formats.hpp"
#include "cli/progress_bar.hpp"
#include "cli/records.hpp"
#include "spansort/files.hpp"
#include "spansort/options.hpp"
#include "spansort/report.hpp"
#include "spansort/types.hpp"

namespace cli {

inline constexpr int status_ok = 0;
inline constexpr int status_disorder = 1;
inline constexpr int status_usage = 2;
inline constexpr int status_input = 3;
inline constexpr int status_io = 4;
inline constexpr int status_device = 5;
inline constexpr int status_memory = 6;
inline constexpr int status_peer = 7;
inline constexpr int status_internal = 8;

/// Flags as typed.
struct sort_arguments {
  std::string input;
  std::string output;
  std::string type;
  bool is_raw = false;
  record_arguments records = {};
  std::string index = "i64";
  std::string values;
  std::string values_output;
  bool descending = false;
  bool unique = false;
  std::string devices = "auto";
  std::string threads;
  std::string algorithm = "auto";
  std::string memory;
  std::string device_memory;
  std::vector<std::string> temporary_directories;
  std::string head;
  bool dry_run = false;
  std::string test_world;
  bool verify = false;
  bool leaves_unsynced = false;
  std::string report;
  std::string trace;
  std::string summary;
  std::string progress = "auto";
  std::string seed;
};

/// Adds IN and all flags of sort and argsort.
void add_sort_flags(CLI::App& command, sort_arguments& arguments);

/// Adds IN, --type and --raw.
void add_input_flags(CLI::App& command, std::string& input, std::string& type, bool& is_raw);

/// Adds --no-mpi, and --mpi for help's sake: whoever gets it past the start of spansort runs over MPI already.
void add_mpi_flag(CLI::App& command);

/// Has an empty file name refused: it is nearly always a variable of the shell that nothing has been put into.
CLI::Option* require_name(CLI::Option* option);

/// Adds -r / --reverse.
void add_reverse_flag(CLI::App& command, bool& descending);
[[nodiscard]] constexpr spansort::direction direction_of(bool is_descending) noexcept {
  return is_descending ? spansort::direction::descending : spansort::direction::ascending;
}

/// The names of what can be chosen, for a help text.
template <class Named>
[[nodiscard]] std::string names_of(const std::vector<Named>& choices) {
  std::string names;
  for (const Named& choice : choices) names.append(names.empty() ? "" : ", ").append(name(choice));
  return names;
}

/// Throws invalid_argument naming --type; nothing for "".
[[nodiscard]] std::optional<spansort::key_type> parse_type_flag(const std::string& text);

/// Adds --progress.
void add_progress_flag(CLI::App& command, std::string& progress);

/// Adds --threads.
void add_threads_flag(CLI::App& command, std::string& threads);

/// Returns what --threads asks for, 0 for "". Throws invalid_argument.
[[nodiscard]] unsigned parse_threads(const std::string& text);

/// Returns what --index names. Throws invalid_argument.
[[nodiscard]] spansort::key_type parse_index_type(const std::string& text);

/// Returns the memory of the host devices.
[[nodiscard]] std::uint64_t host_memory_bytes();

/// Adds -S; `larger` says what becomes of files that need more.
void add_memory_flag(CLI::App& command, std::string& memory, const std::string& larger);

/// Returns the bytes that -S asks for, 0 for "". Throws invalid_argument.
[[nodiscard]] std::uint64_t parse_memory_limit(const std::string& text);

/// Returns what is known of the raw files of a sort.
[[nodiscard]] raw_policy raw_policy_of(const sort_arguments& arguments);

/// sort_file, argsort_file or merge_files, as the flags say.
using file_operation =
    std::function<spansort::file_result(const std::string& input, const std::string& output,
                                        const spansort::file_options& file, const spansort::sort_options& options)>;

/// Returns whether two names mean one file, also one that is not there yet. Streams are no places: "-" is "-" alone.
[[nodiscard]] bool is_same_place(const std::string& left, const std::string& right);

/// Checks the flags, runs the operation, writes report and trace. `more_inputs` are those beside arguments.input.
int run_file_operation(const sort_arguments& arguments, const file_operation& operation,
                       const std::vector<std::string>& more_inputs = {});

/// Adds flags of sort and argsort on one machine: of files larger than memory.
void add_part_flags(CLI::App& command, sort_arguments& arguments);
/// Reads --head; nothing where it is not given. Throws invalid_argument.
[[nodiscard]] std::optional<std::uint64_t> parse_head(const std::string& text);

/// plan_sort_file or plan_argsort_file.
using plan_operation = spansort::file_plan (*)(const std::string& input, const std::string& output,
                                               const spansort::file_options& file,
                                               const spansort::sort_options& options);

/// The operation, or with --dry-run the plan of it on standard output.
[[nodiscard]] file_operation or_plan(const sort_arguments& arguments, file_operation operation, plan_operation plan);

/// Throws invalid_argument when binary keys would go to a terminal.
void require_not_terminal(const std::string& output);

/// Says on standard error where an output that replaces a file cannot belong to whom that one belongs. What is wrong
/// with the output is left to the operation.
void tell_new_owner(const std::string& output);
/// Does so of an output that is written when all else is done, and throws io_error for one that cannot be.
void require_writable(const std::string& output);

/// Writes to standard output; main() reports what fails.
void print(std::string_view text);

}  // namespace cli
