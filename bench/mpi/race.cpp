// SPDX-License-Identifier: Apache-2.0
#include "bench/mpi/race.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <nlohmann/json.hpp>
#include <spansort/mpi.hpp>
#include <spansort/report.hpp>
#include <utility>

#include "bench/circumstances.hpp"
#include "bench/mpi/pairs.hpp"
#include "bench/mpi/timing.hpp"

namespace bench {
namespace {

using json = nlohmann::ordered_json;

constexpr double bytes_of_a_pair = 16;

/// The result of one run: what all node ranks agree on, and the phases of each, which node rank 0 has.
struct run_result {
  double elapsed_ms = 0;  ///< of the slowest node rank
  bool is_right = false;
  std::uint64_t sent_bytes = 0;  ///< between node ranks, sum over them
  std::uint64_t num_moved = 0;
  spansort::sort_report own;
  json phases;
};

/// Phase by phase over the node ranks: busy times as mean and as most, bytes as sum.
json merge_phases(const std::vector<std::string>& reports) {
  struct totals {
    double sum_busy_ms = 0, most_busy_ms = 0, sum_elapsed_ms = 0;
    std::uint64_t bytes_moved = 0;
  };
  std::vector<std::pair<std::string, totals>> phases;
  for (const std::string& text : reports) {
    const json report = json::parse(text);
    for (const json& phase : report["phases"]) {
      const std::string name = phase["name"];
      auto found = std::ranges::find(phases, name, &std::pair<std::string, totals>::first);
      if (found == phases.end()) found = phases.insert(phases.end(), std::pair(name, totals{}));
      totals& t = found->second;
      t.sum_busy_ms += phase["busy_ms"].get<double>();
      t.most_busy_ms = std::max(t.most_busy_ms, phase["busy_ms"].get<double>());
      t.sum_elapsed_ms += phase["elapsed_ms"].get<double>();
      t.bytes_moved += phase["bytes_moved"].get<std::uint64_t>();
    }
  }
  json merged = json::array();
  const auto num_ranks = static_cast<double>(reports.size());
  for (const auto& [name, t] : phases) {
    merged.push_back({{"name", name},
                      {"mean_busy_ms", t.sum_busy_ms / num_ranks},
                      {"most_busy_ms", t.most_busy_ms},
                      {"mean_elapsed_ms", t.sum_elapsed_ms / num_ranks},
                      {"bytes_moved", t.bytes_moved}});
  }
  return merged;
}

/// One contender with its session and all its runs.
class runner {
 public:
  runner(const node_ranks& nodes, contender who, const settings& s)
      : nodes_(nodes), who_(std::move(who)), session_(MPI_COMM_WORLD, options_of(s)) {}
  runner(const runner&) = delete;
  runner& operator=(const runner&) = delete;

  void run(const sort_case& c, const pairs& input, const spansort::multiset_checksum& expected, const settings& s) {
    pairs sorted = input;
    run_result r;
    r.elapsed_ms = slowest_ms(nodes_, [&] { session_.sort_pairs(sorted.keys, sorted.values); });
    if (s.spoil && sorted.keys.size() > 1) std::swap(sorted.values.front(), sorted.values.back());
    r.is_right = is_sorted_whole(nodes_, sorted, expected);
    r.num_moved = count_moved(nodes_, sorted, c.num_keys);
    const std::array<std::uint64_t, 5> sent{report_.exchanged_bytes};
    for (const std::array<std::uint64_t, 5>& its : nodes_.gather(sent)) r.sent_bytes += its[0];
    r.own = report_;
    r.phases = merge_phases(nodes_.gather(spansort::to_json(report_)));
    runs_.push_back(std::move(r));
  }

  /// The first run took memory that nobody had touched yet.
  void forget_runs() { runs_.clear(); }

  [[nodiscard]] json result(const sort_case& c) const {
    std::vector<const run_result*> by_time;
    for (const run_result& r : runs_) by_time.push_back(&r);
    std::ranges::sort(by_time, {}, &run_result::elapsed_ms);
    const run_result& fastest = *by_time.front();
    json runs_ms = json::array();
    for (const run_result& r : runs_) runs_ms.push_back(r.elapsed_ms);
    const auto num_keys = static_cast<double>(c.num_keys);
    return {{"algorithm", who_.algorithm},
            {"radix_bits", who_.radix_bits},
            {"median_ms", by_time[by_time.size() / 2]->elapsed_ms},
            {"fastest_ms", fastest.elapsed_ms},
            {"million_pairs_per_s", num_keys / fastest.elapsed_ms / 1e3},
            {"verified", std::ranges::all_of(runs_, &run_result::is_right)},
            {"driver", fastest.own.algorithm},
            {"input_shape", fastest.own.input_shape},
            {"num_passes", fastest.own.num_passes},
            {"threads_of_a_rank", fastest.own.ranks.front().num_threads},
            {"sent_bytes_per_pair", static_cast<double>(fastest.sent_bytes) / num_keys},
            {"floor_bytes_per_pair", bytes_of_a_pair * static_cast<double>(fastest.num_moved) / num_keys},
            {"phases_of_fastest_run", fastest.phases},
            {"runs_ms", runs_ms}};
  }

 private:
  [[nodiscard]] spansort::mpi::options options_of(const settings& s) {
    spansort::mpi::options options{
        .devices = s.devices, .algorithm = spansort::mpi::parse_algorithm(who_.algorithm), .report = &report_};
    if (who_.radix_bits != 0) options.tuning.radix_bits = who_.radix_bits;
    return options;
  }

  const node_ranks& nodes_;
  contender who_;
  spansort::sort_report report_;
  spansort::mpi::session session_;
  std::vector<run_result> runs_;
};

}  // namespace

json run_case(const node_ranks& nodes, const sort_case& c, const settings& s) {
  const pairs input = make_part(nodes, c.distribution, c.num_keys, s.seed);
  const spansort::multiset_checksum expected = checksum_of(nodes, input);
  const double load_before = load_average();
  std::vector<std::unique_ptr<runner>> runners;
  for (const contender& who : c.contenders) runners.push_back(std::make_unique<runner>(nodes, who, s));
  for (unsigned round = 0; round <= s.repeats; ++round) {
    for (const auto& r : runners) {
      r->run(c, input, expected, s);
      if (round == 0) r->forget_runs();
    }
  }
  json results = json::array();
  for (const auto& r : runners) results.push_back(r->result(c));
  return {{"suite", c.suite},
          {"num_ranks", nodes.count()},
          {"distribution", c.distribution},
          {"num_pairs", c.num_keys},
          {"seed", s.seed},
          {"load_average_before", load_before},
          {"load_average_after", load_average()},
          {"results", results}};
}

}  // namespace bench
