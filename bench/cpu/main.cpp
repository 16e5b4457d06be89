// SPDX-License-Identifier: Apache-2.0
// ./dev bench cpu: Spansort next to the packaged CPU sorts; same input, same run, every output verified. A memory copy
// on all threads is timed before and after each case: where the two differ, the machine was not quiet.
#include <fmt/format.h>
#include <oneapi/tbb/parallel_for.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <spansort/spansort.hpp>
#include <thread>
#include <utility>

#include "bench/circumstances.hpp"
#include "bench/cpu/contenders.hpp"

namespace bench {
namespace {

using json = nlohmann::ordered_json;
using steady = std::chrono::steady_clock;

struct settings {
  std::vector<std::string> types{"u32", "u64", "f32", "f64", "u32(u32)", "u64(u64)"};
  std::vector<std::string> distributions{"uniform", "entropy:4", "zipf:1", "sorted"};
  std::vector<unsigned> log2_sizes{20, 24, 27};
  unsigned repeats = 5;
  double seconds = 10;  ///< no further repeat of a contender after this long
  std::uint64_t seed = 1;
  bool no_peers = false;
  std::string json_file;
  std::string commit = "unknown";
};

double seconds_since(steady::time_point begin) { return std::chrono::duration<double>(steady::now() - begin).count(); }

/// Bytes read plus written per second by a copy on all threads, best of three.
double copy_gb_per_s() {
  constexpr std::size_t size_bytes = std::size_t{1} << 28;
  static const std::vector<char> from(size_bytes, 1);
  static std::vector<char> to(size_bytes);
  double best = 0;
  for (int i = 0; i < 3; ++i) {
    const auto begin = steady::now();
    tbb::parallel_for(tbb::blocked_range<std::size_t>(0, size_bytes, std::size_t{1} << 22), [&](const auto& range) {
      std::memcpy(to.data() + range.begin(), from.data() + range.begin(), range.size());
    });
    best = std::max(best, 2e-9 * static_cast<double>(size_bytes) / seconds_since(begin));
  }
  return best;
}

struct timing {
  std::vector<double> runs_ms;
  bool verified = true;
  [[nodiscard]] double median_ms() const {
    std::vector<double> sorted = runs_ms;
    std::ranges::sort(sorted);
    return sorted[sorted.size() / 2];
  }
};

timing measure(const contender& c, const settings& s) {
  timing t;
  double total = 0;
  // Once untimed: a machine hands out memory that nobody has touched yet at a fraction of its speed.
  c.prepare();
  c.run();
  for (unsigned i = 0; i < s.repeats && (i == 0 || total < s.seconds); ++i) {
    c.prepare();
    const auto begin = steady::now();
    c.run();
    const double elapsed = seconds_since(begin);
    total += elapsed;
    t.runs_ms.push_back(elapsed * 1e3);
    t.verified = c.verify() && t.verified;
  }
  return t;
}

json run_case(const case_input& input, const settings& s) {
  const double copy_before = copy_gb_per_s();
  fmt::print("\n{} {} n = {}\n", input.type, input.distribution, input.num_keys);
  json results = json::array();
  std::vector<contender> contenders = make_contenders(input, !s.no_peers);
  for (contender& waiting : contenders) {
    const contender c = std::exchange(waiting, {});  // what it keeps in memory goes when its turn is over
    const timing t = measure(c, s);
    const double rate = static_cast<double>(input.num_keys) / t.median_ms() / 1e3;
    fmt::print("  {:<28} {:>10.2f} ms {:>9.1f} M/s{}{}\n", c.name, t.median_ms(), rate, c.is_stable ? "  stable" : "",
               t.verified ? "" : "  WRONG RESULT");
    std::fflush(stdout);
    results.push_back({{"name", c.name},
                       {"stable", c.is_stable},
                       {"median_ms", t.median_ms()},
                       {"million_keys_per_s", rate},
                       {"verified", t.verified},
                       {"runs_ms", t.runs_ms}});
  }
  const double copy_after = copy_gb_per_s();
  fmt::print("  memory copy before / after: {:.1f} / {:.1f} GB/s\n", copy_before, copy_after);
  return {{"type", input.type}, {"distribution", input.distribution},  {"num_keys", input.num_keys},
          {"seed", input.seed}, {"copy_gb_per_s_before", copy_before}, {"copy_gb_per_s_after", copy_after},
          {"results", results}};
}

json metadata(const settings& s, int argc, char** argv) {
  std::string command = "spansort_bench_cpu";
  for (int i = 1; i < argc; ++i) command += std::string(" ") + argv[i];
  const spansort::device_description cpu = spansort::list_devices().front();
  return {{"benchmark", "cpu"},
          {"version", SPANSORT_VERSION},
          {"commit", s.commit},
          {"command", command},
          {"date", date_today()},
          {"device", cpu.model},
          {"num_threads", std::thread::hardware_concurrency()},
          {"vector_target", cpu.vector_target},
          {"compiler", __VERSION__},
          {"statistic", "median of runs_ms"}};
}

int run(const settings& s, int argc, char** argv) {
  json document = {{"meta", metadata(s, argc, argv)}, {"cases", json::array()}};
  bool all_verified = true;
  for (const std::string& type : s.types) {
    for (const std::string& distribution : s.distributions) {
      for (const unsigned log2_size : s.log2_sizes) {
        document["cases"].push_back(run_case({type, distribution, std::uint64_t{1} << log2_size, s.seed}, s));
        for (const json& r : document["cases"].back()["results"]) all_verified = all_verified && r["verified"];
        // After every case: an hour's figures must not be lost with the last one.
        if (!s.json_file.empty()) spansort::write_file(s.json_file, document.dump(1) + "\n");
      }
    }
  }
  return all_verified ? 0 : 8;
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  bench::settings s;
  CLI::App app{"Races Spansort against the CPU sorts that distributions package."};
  app.add_option("--types", s.types, "u32 u64 f32 f64 u32(u32) u64(u64)")->delimiter(',');
  app.add_option("--distributions", s.distributions, "as spansort gen knows them")->delimiter(',');
  app.add_option("--log2-sizes", s.log2_sizes, "20 24 27")->delimiter(',');
  app.add_option("--repeats", s.repeats, "runs of each contender")->check(CLI::PositiveNumber);
  app.add_option("--seconds", s.seconds, "stop repeating a contender after this long");
  app.add_option("--seed", s.seed, "of the inputs");
  app.add_option("--commit", s.commit, "what was measured, for the JSON");
  app.add_flag("--no-peers", s.no_peers, "Spansort alone");
  app.add_option("--json", s.json_file, "write all runs here");
  CLI11_PARSE(app, argc, argv);
  try {
    return bench::run(s, argc, argv);
  } catch (const spansort::error& e) {
    fmt::print(stderr, "spansort_bench_cpu: {}\n", e.what());
    return e.exit_status();
  }
}
