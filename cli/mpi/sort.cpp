// SPDX-License-Identifier: Apache-2.0
// spansort sort --mpi and argsort --mpi: a file into order over all node ranks.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <string>

#include "cli/common.hpp"
#include "cli/interrupts.hpp"
#include "cli/mpi/cluster_flags.hpp"
#include "cli/numbers.hpp"
#include "cli/records.hpp"
#include "cli/report_json.hpp"
#include "cli/test_world.hpp"
#include "spansort/errors.hpp"

namespace cli {
namespace {

/// Flags as typed.
struct cluster_sort_arguments {
  sort_arguments sort;
  std::string radix_bits = "16";
  cluster_arguments cluster;
};

using session_plan = spansort::mpi::cluster_file_plan (spansort::mpi::session::*)(const std::string& input,
                                                                                  const std::string& output,
                                                                                  const spansort::file_options& file);
using session_operation = spansort::file_result (spansort::mpi::session::*)(const std::string& input,
                                                                            const std::string& output,
                                                                            const spansort::file_options& file);

/// Throws invalid_argument for flags that one machine alone can follow.
void refuse_local_flags(const sort_arguments& arguments) {
  struct local_flag {
    const char* name;
    bool is_given;
  };
  const local_flag flags[] = {{"--axis", !arguments.records.axis.empty()},
                              {"--device-memory", !arguments.device_memory.empty()},
                              {"--trace", !arguments.trace.empty()},
                              {"--summary", !arguments.summary.empty()},
                              {"--progress", arguments.progress != "auto" && arguments.progress != "never"}};
  std::string given;
  for (const local_flag& flag : flags) {
    if (flag.is_given) given += (given.empty() ? "" : ", ") + std::string(flag.name);
  }
  if (!given.empty()) throw spansort::invalid_argument(given + ": not available over MPI");
}

void require_files(const sort_arguments& arguments) {
  if (arguments.output.empty()) {
    throw spansort::invalid_argument("-o: an output is needed: -o FILE, or the input's own name to sort in place");
  }
  if (arguments.input == "-" || arguments.output == "-") {
    throw spansort::invalid_argument(
        fmt::format("{}: over MPI every node rank reads and writes its part of a file; '-' is a stream",
                    arguments.input == "-" ? "IN" : "-o"));
  }
  if (arguments.report == arguments.output) {
    throw spansort::invalid_argument(
        fmt::format("-o and --report: '{}' is named twice, each needs a place of its own", arguments.output));
  }
}

unsigned parse_radix_bits(const std::string& text) {
  const std::uint64_t bits = parse_whole_number("--radix-bits", text);
  if (bits < 1 || bits > 16) throw spansort::invalid_argument(fmt::format("--radix-bits: {} is not 1 to 16", bits));
  return static_cast<unsigned>(bits);
}

spansort::mpi::options options_of(const cluster_sort_arguments& arguments) {
  spansort::mpi::options options{.devices = arguments.sort.devices,
                                 .threads = parse_threads(arguments.sort.threads),
                                 .algorithm = spansort::mpi::parse_algorithm(arguments.sort.algorithm),
                                 .memory_limit_bytes = parse_memory_limit(arguments.sort.memory)};
  const unsigned radix_bits = parse_radix_bits(arguments.radix_bits);
  if (options.algorithm == spansort::mpi::algorithm::distributed_lsd) options.tuning.radix_bits = radix_bits;
  apply_cluster_flags(arguments.cluster, options);
  return options;
}

/// Writes the report of the sort. Node rank 0 does so, once no other can fail any more.
void write_report(const std::string& path, const finished_operation& done) {
  spansort::write_file(path, report_json(done), remove_temporary_on_signals());
}

/// The plan of all node ranks, in the words of one machine's (cli/parts.cpp).
std::string plan_text(const spansort::mpi::cluster_file_plan& plan, const std::string& output) {
  const spansort::file_plan& here = plan.here;
  std::string text = fmt::format("input    {} elements of {} bytes, an equal share for each of {} node ranks\n",
                                 plan.num_elements, here.element_bytes, plan.num_node_ranks);
  text +=
      fmt::format("memory   {} at most on node rank 0, about {} will be used, {} on that which takes the most\n",
                  bytes_text(here.ceiling_bytes), bytes_text(here.memory_bytes), bytes_text(plan.most_memory_bytes));
  if (plan.num_runs == 0) {
    text += "parts    one a node rank, in memory; no temporary files\n";
  } else {
    text += fmt::format("runs     {}, {} of them on node rank 0 of up to {} elements, in {}\n", plan.num_runs,
                        here.num_runs, here.chunk_elements, fmt::join(here.folders, " "));
    text += fmt::format("spill    {} written and read back, {} by node rank 0, in blocks of {}\n",
                        bytes_text(plan.spilled_bytes), bytes_text(here.spilled_bytes), bytes_text(here.block_bytes));
  }
  text += fmt::format("read     {} of the input and of temporary files\n", bytes_text(plan.read_bytes));
  text += fmt::format("sent     {} from node rank to node rank, where keys come in no order\n",
                      bytes_text(plan.sent_bytes));
  return text + fmt::format("output   {}, up to {}\n", output, bytes_text(here.output_bytes));
}

/// Node rank 0 prints the plan.
outcome run_plan(const mpi_world& world, const sort_arguments& arguments, session_plan plan,
                 spansort::mpi::options options, const spansort::file_options& file) {
  spansort::mpi::cluster_file_plan made;
  const test_world_scope small_world(arguments.test_world);
  return run_in_session(
      world, std::move(options),
      [&](spansort::mpi::session& session) { made = (session.*plan)(arguments.input, arguments.output, file); },
      [&] {
        if (world.node_rank() == 0) print(plan_text(made, arguments.output));
      });
}

outcome run_operation(const mpi_world& world, const sort_arguments& arguments, session_operation operation,
                      spansort::mpi::options options, const spansort::file_options& file) {
  finished_operation done{.inputs = {find_file(arguments.input)}};
  std::function<void()> last;
  if (world.node_rank() == 0) tell_new_owner(arguments.output);
  if (!arguments.report.empty() && world.node_rank() == 0) {
    options.report = &done.report;
    last = [&] {
      done.output = find_file(arguments.output);
      write_report(arguments.report, done);
    };
  }
  const test_world_scope small_world(arguments.test_world);
  return run_in_session(
      world, std::move(options),
      [&](spansort::mpi::session& session) {
        done.result = (session.*operation)(arguments.input, arguments.output, file);
      },
      last);
}

/// Devices and the ceiling on memory are each machine's own affair, the report is that of node rank 0.
std::vector<agreed_setting> settings_of(const cluster_sort_arguments& arguments, const char* name) {
  const sort_arguments& sort = arguments.sort;
  return {{"command", name},
          {"IN", sort.input},
          {"-o", sort.output},
          {"--type", sort.type},
          {"--record", sort.records.record_bytes},
          {"--key", fmt::format("{}", fmt::join(sort.records.keys, ","))},
          {"-r", yes_or_no(sort.descending)},
          {"-u", yes_or_no(sort.unique)},
          {"--head", sort.head},
          {"--algorithm", sort.algorithm},
          {"--radix-bits", arguments.radix_bits},
          {"--verify", yes_or_no(sort.verify)},
          {"--dry-run", yes_or_no(sort.dry_run)},
          {"--no-sync", yes_or_no(sort.leaves_unsynced)},
          {"--heartbeat-timeout", arguments.cluster.heartbeat_timeout}};
}

cluster_request make_request(const std::shared_ptr<cluster_sort_arguments>& arguments, const char* name,
                             session_operation operation, session_plan plan) {
  const sort_arguments& sort = arguments->sort;
  refuse_local_flags(sort);
  require_files(sort);
  if (!sort.seed.empty()) static_cast<void>(parse_whole_number("--seed", sort.seed));
  const spansort::mpi::options options = options_of(*arguments);
  require_honest_name("-o", sort.output, raw_policy_of(sort));
  require_raw_input(sort.input, raw_policy_of(sort));
  const spansort::file_options file{.direction = direction_of(sort.descending),
                                    .records = parse_record_flags(sort.records, sort.type),
                                    .array = parse_array_flags(sort.records),
                                    .temporary_directories = sort.temporary_directories,
                                    .head = parse_head(sort.head),
                                    .type = parse_type_flag(sort.type),
                                    .unique = sort.unique,
                                    .verify = sort.verify,
                                    .sync = !sort.leaves_unsynced,
                                    .on_temporary = remove_temporary_on_signals()};
  return {settings_of(*arguments, name), [arguments, operation, plan, options, file](const mpi_world& world) {
            if (arguments->sort.dry_run) return run_plan(world, arguments->sort, plan, options, file);
            return run_operation(world, arguments->sort, operation, options, file);
          }};
}

/// Says of the flags of one machine what they are over MPI.
void describe_flags(CLI::App& command) {
  command.get_option("IN")->description(
      "File of keys that all node ranks see: .npy, or raw little-endian keys of --type");
  command.get_option("--output")->description("Output; may be IN");
  command.get_option("--devices")
      ->description("Of each node rank, may differ: auto and cpu are its share of the machine; host:2, gpu:0 ...");
  command.get_option("--algorithm")->description(names_of(spansort::mpi::list_algorithms()));
  command.get_option("--buffer-size")
      ->description(
          "Ceiling on each node rank's memory, may differ: 500M, 1.5G (powers of 1024), 100MB (of 1000), or % of "
          "memory. "
          "Larger files are sorted in parts");
  command.get_option("--temporary-directory")
      ->description(
          "Of each node rank, may differ: folder for what does not fit in memory; may be given several times, default "
          "$TMPDIR or /tmp");
  command.get_option("--report")
      ->description("Write phases, bytes, balance of node rank 0 as JSON; - is standard output");
  for (const char* const name : {"--device-memory", "--axis", "--trace", "--progress", "--no-mpi"}) {
    command.get_option(name)->group("");
  }
}

void add_command(CLI::App& app, cluster_action& action, const char* name, const char* description,
                 session_operation operation, session_plan plan) {
  CLI::App* const command = app.add_subcommand(name, description);
  const auto arguments = std::make_shared<cluster_sort_arguments>();
  add_sort_flags(*command, arguments->sort);
  add_record_flags(*command, arguments->sort.records);
  add_part_flags(*command, arguments->sort);
  command->add_option("--summary", arguments->sort.summary)->group("");
  command
      ->add_option("--radix-bits", arguments->radix_bits,
                   "Width of distributed_lsd's digits, 1 to 16; wider: fewer exchanges")
      ->type_name("BITS")
      ->capture_default_str();
  add_cluster_flags(*command, arguments->cluster);
  describe_flags(*command);
  command->footer(
      verb_footer({fmt::format("mpirun -n 4 spansort {} --mpi x.npy -o out.npy", name)}, {0, 2, 3, 4, 5, 6, 7, 8}));
  command->callback([=, &action] { action = [=] { return make_request(arguments, name, operation, plan); }; });
}

}  // namespace

void add_cluster_sort_command(CLI::App& app, cluster_action& action) {
  add_command(app, action, "sort", "Sort the keys of a file over all node ranks", &spansort::mpi::session::sort_file,
              &spansort::mpi::session::plan_sort_file);
}

void add_cluster_argsort_command(CLI::App& app, cluster_action& action) {
  add_command(app, action, "argsort", "Write the stable order of a file's keys as 64-bit indices, over all node ranks",
              &spansort::mpi::session::argsort_file, &spansort::mpi::session::plan_argsort_file);
}

}  // namespace cli
