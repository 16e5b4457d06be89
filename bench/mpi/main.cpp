// SPDX-License-Identifier: Apache-2.0
// ./dev bench mpi: sorts of 64-bit pairs over the node ranks that mpirun started. Every result is verified: stable
// order across the node ranks and the checksum of all pairs. scripts/bench_mpi.py runs this for several numbers of node
// ranks.
#include <fmt/format.h>
#include <mpi.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <spansort/spansort.hpp>
#include <thread>

#include "bench/circumstances.hpp"
#include "bench/mpi/cases.hpp"
#include "bench/mpi/node_ranks.hpp"
#include "bench/mpi/quartiles.hpp"
#include "bench/mpi/race.hpp"

namespace bench {
namespace {

using json = nlohmann::ordered_json;

constexpr int status_wrong_result = 8;

/// "Open MPI v4.1.4", and nothing of who built it.
std::string mpi_version() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0;
  MPI_Get_library_version(text, &length);
  const std::string all(text, static_cast<std::size_t>(length));
  return all.substr(0, all.find_first_of(",\n"));
}

json metadata(const settings& s, const node_ranks& nodes, const std::string& command) {
  const spansort::device_description cpu = spansort::list_devices().front();
  return {{"benchmark", "mpi"},
          {"version", SPANSORT_VERSION},
          {"commit", s.commit},
          {"command", fmt::format("mpirun -n {} {}", nodes.count(), command)},
          {"date", date_today()},
          {"device", cpu.model},
          {"num_threads", std::thread::hardware_concurrency()},
          {"vector_target", cpu.vector_target},
          {"compiler", __VERSION__},
          {"mpi", mpi_version()},
          {"seed", s.seed},
          {"repeats", s.repeats},
          {"record", "64-bit key, 64-bit value"},
          {"statistic", "a run is as long as its slowest node rank; rates and phases are those of the fastest run"}};
}

void print(const json& c) {
  fmt::print("\n{} on {} node ranks: {} {} records, load average {:.1f} to {:.1f}\n", c["suite"].get<std::string>(),
             c["num_ranks"].get<unsigned>(), c["num_pairs"].get<std::uint64_t>(), c["distribution"].get<std::string>(),
             c["load_average_before"].get<double>(), c["load_average_after"].get<double>());
  for (const json& r : c["results"]) {
    fmt::print("  {:<23} {:>2} {:>10.2f} ms, median {:>10.2f} ms", r["algorithm"].get<std::string>(),
               r["radix_bits"].get<unsigned>(), r["fastest_ms"].get<double>(), r["median_ms"].get<double>());
    if (r.contains("sent_bytes_per_pair")) {
      fmt::print("  {:>7.2f} bytes sent a pair, floor {:.2f}", r["sent_bytes_per_pair"].get<double>(),
                 r["floor_bytes_per_pair"].get<double>());
    }
    fmt::print("{}\n", r["verified"].get<bool>() ? "" : "  WRONG RESULT");
  }
  std::fflush(stdout);
}

int run(const settings& s, const std::string& command) {
  const node_ranks nodes;
  json document = {{"meta", metadata(s, nodes, command)}, {"cases", json::array()}};
  bool all_verified = true;
  for (const sort_case& c : make_cases(s, nodes.count())) {
    json done = c.suite == "quartiles" ? run_quartiles(nodes, c, s) : run_case(nodes, c, s);
    for (const json& r : done["results"]) all_verified = all_verified && r["verified"].get<bool>();
    document["cases"].push_back(std::move(done));
    if (nodes.self() != 0) continue;
    print(document["cases"].back());
    // After every case: an hour's figures must not be lost with the last one.
    if (!s.json_file.empty()) spansort::write_file(s.json_file, document.dump(1) + "\n");
  }
  return all_verified ? 0 : status_wrong_result;
}

std::string command_of(int argc, char** argv) {
  std::string command = "spansort_bench_mpi";
  for (int i = 1; i < argc; ++i) command += std::string(" ") + argv[i];
  return command;
}

void add_options(CLI::App& app, settings& s) {
  app.add_option("--suites", s.suites, "in this order; default: figure4,figure5,figure6,figure7,quartiles")
      ->delimiter(',')
      ->check(CLI::IsMember({"figure4", "figure5", "figure6", "figure7", "quartiles"}));
  app.add_option("--devices", s.devices, "of each node rank; cpu: its share of the machine's processors");
  app.add_option("--log2-size", s.log2_size, "pairs over all node ranks: 24")->check(CLI::Range(6U, 34U));
  app.add_option("--log2-part", s.log2_part, "pairs of each node rank in figure7: 21")->check(CLI::Range(0U, 32U));
  app.add_option("--log2-keys", s.log2_keys, "keys over all node ranks in quartiles: 26")->check(CLI::Range(4U, 36U));
  app.add_option("--repeats", s.repeats, "timed runs of each contender: 5")->check(CLI::PositiveNumber);
  app.add_option("--seed", s.seed, "of the inputs");
  app.add_flag("--spoil", s.spoil, "corrupt every result before it is verified: ends with status 8");
  app.add_option("--commit", s.commit, "what was measured, for the JSON");
  app.add_option("--json", s.json_file, "write all runs here, anew after each case");
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  bench::settings s;
  CLI::App app{"Races the sorts over MPI against each other; to be started by mpirun."};
  bench::add_options(app, s);
  CLI11_PARSE(app, argc, argv);
  MPI_Init(&argc, &argv);
  int status = 0;
  try {
    status = bench::run(s, bench::command_of(argc, argv));
  } catch (const spansort::error& e) {
    fmt::print(stderr, "spansort_bench_mpi: {}\n", e.what());
    MPI_Abort(MPI_COMM_WORLD, e.exit_status());
  }
  MPI_Finalize();
  return status;
}
