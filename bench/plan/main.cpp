// SPDX-License-Identifier: Apache-2.0
// This program says what distributed_rmg would plan and send on more nodes than there are: the planner itself, with the
// parameters that the sort would give it, on histograms drawn at random instead of counted. Says how often it must
// refine, how many counts travel, how often keys are partitioned and who sends what to whom. scripts/cluster_model.py
// makes times of it.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <ctime>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>
#include <spansort/errors.hpp>
#include <spansort/files.hpp>
#include <spansort/version.hpp>
#include <utility>

#include "algorithms/rmg_state.hpp"
#include "device/host/host_device.hpp"
#include "plan/planner.hpp"

namespace bench {
namespace {

namespace plan = spansort::plan;
namespace algorithms = spansort::algorithms;
using json = nlohmann::ordered_json;
using counts = std::vector<std::uint64_t>;

struct settings {
  std::vector<unsigned> num_nodes{2, 4, 8, 16, 32, 64, 128, 256};
  std::vector<unsigned> log2_parts{28};  ///< pairs of each node
  std::vector<std::string> sizes{"as given", "balanced"};
  std::uint64_t seed = 1;
  bool wants_matrix = false;
  std::string json_file;
};

/// Returns the processor time of the one thread, so that what else runs on the machine does not count.
double cpu_ms() { return 1e3 * static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

/// This share of the keys lies in the lower half of all key values. Were it a half, buckets of uniform keys would end
/// where the parts of a power of two of nodes do, and nothing would span two nodes: luck that no data has.
constexpr double share_of_lower_half = 0.618;

/// Histograms of keys that are uniform in the lower half of all key values, and in the upper one.
class random_histograms {
 public:
  explicit random_histograms(std::uint64_t seed) : random_(seed) {}

  /// Spreads `num_keys` keys of the root over the buckets of its first digit, a power of two of them.
  void fill_root(std::span<std::uint64_t> buckets, std::uint64_t num_keys) {
    const std::uint64_t left = lower_of(num_keys, share_of_lower_half);
    fill(buckets.first(buckets.size() / 2), left);
    fill(buckets.last(buckets.size() / 2), num_keys - left);
  }
  void fill(std::span<std::uint64_t> buckets, std::uint64_t num_keys) {
    if (buckets.size() == 1) {
      buckets[0] = num_keys;
      return;
    }
    const std::uint64_t left = lower_of(num_keys, 0.5);
    fill(buckets.first(buckets.size() / 2), left);
    fill(buckets.last(buckets.size() / 2), num_keys - left);
  }

 private:
  /// Binomial: exact for few keys, then by the normal distribution, whose error is far below its deviation.
  std::uint64_t lower_of(std::uint64_t num_keys, double share) {
    if (num_keys <= 64) {
      std::uint64_t lower = 0;
      for (std::uint64_t i = 0; i < num_keys; ++i) lower += unit_(random_) < share ? 1 : 0;
      return lower;
    }
    const auto n = static_cast<double>(num_keys);
    const double deviation = std::sqrt(n * share * (1 - share));
    return static_cast<std::uint64_t>(std::clamp(std::round(n * share + normal_(random_) * deviation), 0.0, n));
  }

  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
  std::uniform_real_distribution<double> unit_;
};

/// One for every slice of every refinement.
std::vector<std::vector<counts>> draw_histograms(random_histograms& random,
                                                 const std::vector<plan::refinement>& pending) {
  std::vector<std::vector<counts>> histograms;
  for (const plan::refinement& bucket : pending) {
    histograms.emplace_back(bucket.slices.size(), counts(bucket.digit.num_buckets()));
    for (std::size_t i = 0; i < bucket.slices.size(); ++i) {
      if (bucket.prefix.bit_count == 0) {
        random.fill_root(histograms.back()[i], bucket.slices[i].count);
      } else {
        random.fill(histograms.back()[i], bucket.slices[i].count);
      }
    }
  }
  return histograms;
}

/// Returns what the sort of one CPU device a node would give the planner, for pairs of 64-bit keys and values.
plan::parameters parameters_of(unsigned num_nodes, std::uint64_t part_keys, bool is_balanced) {
  algorithms::problem problem;
  problem.shape = {{spansort::key_type::u64, false, spansort::keys::tie_rule::by_input_order}, 8};
  algorithms::cluster_sort others;
  others.source_counts.assign(num_nodes, part_keys);
  if (!is_balanced) others.target_counts = others.source_counts;
  others.advice = spansort::device::host::make_host_device({.num_threads = 1})->advise(problem.shape);
  problem.others = &others;
  return algorithms::plan_parameters(problem, {}, {});
}

/// The refinements of a pass, before they are counted.
json describe_pass(const std::vector<plan::refinement>& pending, unsigned num_nodes) {
  std::uint64_t num_counts = 0;
  std::vector<std::uint64_t> keys_of_node(num_nodes), counts_of_node(num_nodes);
  for (const plan::refinement& bucket : pending) {
    for (const plan::slice& slice : bucket.slices) {
      keys_of_node[slice.rank] += slice.count;
      counts_of_node[slice.rank] += bucket.digit.num_buckets();
    }
  }
  num_counts = std::accumulate(counts_of_node.begin(), counts_of_node.end(), std::uint64_t{0});
  return {{"num_refinements", pending.size()},
          {"digit_bits", pending.front().digit.bits},
          {"gathered_counts", num_counts},
          {"most_counts_of_a_node", std::ranges::max(counts_of_node)},
          {"keys_partitioned", std::accumulate(keys_of_node.begin(), keys_of_node.end(), std::uint64_t{0})},
          {"most_keys_partitioned_of_a_node", std::ranges::max(keys_of_node)}};
}

/// Keys that each node sends each other one; what stays is on the diagonal.
std::vector<counts> traffic_of(const plan::sort_plan& made) {
  std::vector<counts> keys(made.params.num_ranks, counts(made.params.num_ranks));
  for (const plan::transfer& t : made.transfers) keys[t.source_rank][t.destination_rank] += t.count;
  return keys;
}

json run_case(unsigned num_nodes, unsigned log2_part, const std::string& sizes, const settings& s) {
  const plan::parameters p = parameters_of(num_nodes, std::uint64_t{1} << log2_part, sizes == "balanced");
  random_histograms random(s.seed);
  plan::planner planner(p);
  json passes = json::array();
  double planner_ms = 0;
  while (!planner.pending().empty()) {
    passes.push_back(describe_pass(planner.pending(), num_nodes));
    const std::vector<std::vector<counts>> histograms = draw_histograms(random, planner.pending());
    const double begin_ms = cpu_ms();
    planner.add_pass(histograms);
    planner_ms += cpu_ms() - begin_ms;
  }
  const double begin_ms = cpu_ms();
  const plan::sort_plan made = std::move(planner).finish();
  planner_ms += cpu_ms() - begin_ms;
  for (std::size_t i = 0; i < passes.size(); ++i) passes[i]["num_buckets"] = made.passes[i].buckets.size();
  json result = {{"num_nodes", num_nodes},
                 {"part_pairs", std::uint64_t{1} << log2_part},
                 {"sizes", sizes},
                 {"radix_bits", p.radix_bits},
                 {"epsilon", p.epsilon},
                 {"passes", passes},
                 {"num_transfers", made.transfers.size()},
                 {"num_local_sorts", made.local_sorts.size()},
                 {"imbalance", made.imbalance()},
                 {"planner_ms", planner_ms}};
  if (s.wants_matrix) result["keys_from_to"] = traffic_of(made);
  return result;
}

int run(const settings& s) {
  json document = {{"meta",
                    {{"simulation", "plans of distributed_rmg on random histograms"},
                     {"version", SPANSORT_VERSION},
                     {"seed", s.seed}}},
                   {"cases", json::array()}};
  for (const std::string& sizes : s.sizes) {
    for (const unsigned log2_part : s.log2_parts) {
      for (const unsigned num_nodes : s.num_nodes) {
        document["cases"].push_back(run_case(num_nodes, log2_part, sizes, s));
        const json& c = document["cases"].back();
        fmt::print(stderr, "{:>5} nodes, 2^{} pairs each, {}: {} passes of {} bits, {} transfers, planner {:.0f} ms\n",
                   num_nodes, log2_part, sizes, c["passes"].size(), c["radix_bits"].get<unsigned>(),
                   c["num_transfers"].get<std::uint64_t>(), c["planner_ms"].get<double>());
      }
    }
  }
  spansort::write_file(s.json_file.empty() ? "-" : s.json_file, document.dump(1) + "\n");
  return 0;
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  bench::settings s;
  CLI::App app{"Plans of distributed_rmg on many nodes, from random histograms of 64-bit keys, as JSON."};
  app.add_option("--nodes", s.num_nodes, "2,4,8,16,32,64,128,256")->delimiter(',')->check(CLI::Range(2U, 4096U));
  app.add_option("--log2-parts", s.log2_parts, "pairs of each node: 28")->delimiter(',')->check(CLI::Range(0U, 40U));
  app.add_option("--sizes", s.sizes, "of the nodes' parts of the result: \"as given\", balanced")
      ->delimiter(',')
      ->check(CLI::IsMember({"as given", "balanced"}));
  app.add_option("--seed", s.seed, "of the histograms");
  app.add_flag("--matrix", s.wants_matrix, "also what each node sends each other one");
  app.add_option("--json", s.json_file, "write here; default: standard output");
  CLI11_PARSE(app, argc, argv);
  try {
    return bench::run(s);
  } catch (const spansort::error& e) {
    fmt::print(stderr, "spansort_bench_plan: {}\n", e.what());
    return e.exit_status();
  }
}
