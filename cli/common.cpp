// SPDX-License-Identifier: Apache-2.0
#include "cli/common.hpp"

#include <fmt/format.h>

#include <unistd.h>
#include <filesystem>

#include <cstdint>
#include <cstdio>

#include "cli/numbers.hpp"
#include "cli/program.hpp"
#include "spansort/devices.hpp"
#include "spansort/errors.hpp"

namespace cli {
namespace {

constexpr const char* types_text = "u8 i8 u16 i16 u32 i32 u64 i64 f16 bf16 f32 f64";

}  // namespace

std::uint64_t host_memory_bytes() {
  std::uint64_t sum = 0;
  for (const spansort::device_description& device : spansort::list_devices()) {
    if (device.name.starts_with("host")) sum += device.memory_bytes;
  }
  return sum;
}

void add_input_flags(CLI::App& command, std::string& input, std::string& type, bool& is_raw) {
  command.add_option("IN", input, "File of keys: .npy, or raw little-endian keys of --type; - is standard input")
      ->required()
      ->type_name("");
  command
      .add_option("--type", type,
                  fmt::format("Type of raw keys: {}, or NumPy's and DuckDB's names of these (uint32, float64, BIGINT)",
                              types_text))
      ->type_name("T");
  command.add_flag("--raw", is_raw,
                   "Take files for raw keys that look like text, an archive or a table, or have such a name");
}

CLI::Option* require_name(CLI::Option* option) {
  const auto refuse_empty = [](const std::string& name) -> std::string {
    return name.empty() ? "the name of a file is expected, found an empty one" : "";
  };
  return option->check(refuse_empty);
}

void add_reverse_flag(CLI::App& command, bool& descending) {
  command.add_flag("-r,--reverse", descending, "Descending order (NaN last all the same)");
}

void add_sort_flags(CLI::App& command, sort_arguments& arguments) {
  add_input_flags(command, arguments.input, arguments.type, arguments.is_raw);
  require_name(command.add_option("-o,--output", arguments.output,
                                  "Output; may be IN, which is then sorted in place; - or none: standard output"))
      ->type_name("OUT");
  add_reverse_flag(command, arguments.descending);
  command.add_flag("-u,--unique", arguments.unique, "Keep the first of equal keys only");
  command.add_option("--devices", arguments.devices, "auto, cpu, host:4 (four host devices), gpu, gpu:0,1 ...")
      ->type_name("LIST")
      ->capture_default_str();
  add_threads_flag(command, arguments.threads);
  command.add_option("--algorithm", arguments.algorithm, names_of(spansort::list_algorithms()))
      ->type_name("NAME")
      ->capture_default_str();
  add_memory_flag(command, arguments.memory, "Larger files are sorted in parts");
  command
      .add_option(
          "--device-memory", arguments.device_memory,
          "Ceiling on memory of each device; what needs more is sorted in parts: as -S, % of the device's memory")
      ->type_name("SIZE");
  command.add_flag("--verify", arguments.verify, "Check order, count and checksum before the output appears");
  command.add_flag(
      "--no-sync", arguments.leaves_unsynced,
      "Do not wait until the output is on the disk: faster, and lost if the machine loses power soon after");
  require_name(
      command.add_option("--report", arguments.report, "Write phases, bytes, balance as JSON; - is standard output"))
      ->type_name("FILE");
  require_name(command.add_option("--trace", arguments.trace, "Write a Chrome trace, one row a device (for Perfetto)"))
      ->type_name("FILE");
  add_progress_flag(command, arguments.progress);
  command.add_option("--seed", arguments.seed, "Seed of random choices, of which no algorithm makes any so far")
      ->type_name("N")
      ->group("");
  command.add_option("--test-world", arguments.test_world)->group("");
  add_mpi_flag(command);
}

void add_progress_flag(CLI::App& command, std::string& progress) {
  command.add_option("--progress", progress, "Progress bar on standard error: auto, always, never")
      ->type_name("WHEN")
      ->capture_default_str();
}

void add_mpi_flag(CLI::App& command) {
  command.add_flag("--mpi")
      ->description(
          "Over the processes that mpirun starts, each with a share of IN: mpirun -n 4 spansort ... --mpi; with "
          "--help: the flags there")
      ->disable_flag_override();
  command.add_flag("--no-mpi")
      ->description("Of several processes that mpirun or srun starts, each works alone, on a file of its own")
      ->disable_flag_override();
}

void add_threads_flag(CLI::App& command, std::string& threads) {
  command
      .add_option("-j,--threads,--parallel", threads,
                  "Threads that compute on the host, all devices together; default, and most: as many as the "
                  "process may use processors, by affinity and quota")
      ->type_name("N");
}

unsigned parse_threads(const std::string& text) {
  if (text.empty()) return 0;
  constexpr unsigned most = 1024;
  const std::uint64_t threads = parse_whole_number("--threads", text);
  if (threads == 0 || threads > most) {
    throw spansort::invalid_argument(fmt::format("--threads: {} is not 1 to {}", threads, most));
  }
  return static_cast<unsigned>(threads);
}

void add_memory_flag(CLI::App& command, std::string& memory, const std::string& larger) {
  command
      .add_option("-S,--buffer-size", memory,
                  "Ceiling on the memory of the process: 500M, 1.5G, 4GiB (powers of 1024), 100MB (of 1000), or % of "
                  "memory; default: half of what is free. " +
                      larger)
      ->type_name("SIZE");
}

std::uint64_t parse_memory_limit(const std::string& text) {
  if (text.empty()) return 0;
  return parse_size("-S", text, text.ends_with('%') ? host_memory_bytes() : 0);
}

std::optional<spansort::key_type> parse_type_flag(const std::string& text) {
  if (text.empty()) return std::nullopt;
  try {
    return spansort::parse_key_type(text);
  } catch (const spansort::invalid_argument& failure) {
    throw spansort::invalid_argument(fmt::format("--type: {}", failure.what()));
  }
}

raw_policy raw_policy_of(const sort_arguments& arguments) {
  return {.is_insisted = arguments.is_raw, .may_be_text = !arguments.records.record_bytes.empty()};
}

void require_writable(const std::string& output) {
  if (output.empty()) return;
  if (const std::string note = spansort::replacement_note(output); !note.empty()) print_message(note);
}

void tell_new_owner(const std::string& output) {
  try {
    require_writable(output);
  } catch (const spansort::error&) {
  }
}

void require_not_terminal(const std::string& output) {
  if (output != "-" || ::isatty(STDOUT_FILENO) == 0) return;
  throw spansort::invalid_argument(
      "-o: standard output is a terminal, which keys would garble; say where they are to go with -o FILE, or `> FILE`");
}

void print(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }

bool is_same_place(const std::string& left, const std::string& right) {
  if (left == right || left == "-" || right == "-") return left == right;
  std::error_code failed;
  if (std::filesystem::equivalent(left, right, failed)) return true;
  const auto resolve = [&](const std::string& name) {
    std::filesystem::path path = std::filesystem::absolute(name, failed);
    // A link that leads to nothing yet stays as it is in a canonical name.
    for (int links = 0; links < 40 && std::filesystem::is_symlink(path, failed); ++links) {
      path = path.parent_path() / std::filesystem::read_symlink(path, failed);
    }
    return std::filesystem::weakly_canonical(path, failed);
  };
  const std::filesystem::path first = resolve(left);
  return !first.empty() && first == resolve(right);
}

}  // namespace cli
