// SPDX-License-Identifier: Apache-2.0
// This program says what distributed_rmg would plan and send on more nodes than there are: the planner itself, with the
// parameters that the sort would give it, on histograms drawn at random instead of counted. It plans for a node in the
// middle, as each node does for itself; what the others would tell it is simulated. Says how often it must refine, how
// many counts are summed, how often keys are partitioned and who sends what to whom. scripts/cluster_model.py makes
// times of it.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <ctime>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
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

/// The counts of all nodes, as far as planners ask for them: of the buckets that a pass refines, and of those that the
/// planned node ends with.
class simulated_nodes {
 public:
  simulated_nodes(const plan::parameters& p, std::uint64_t seed) : random_(seed), num_nodes_(p.num_ranks) {
    slices_[{}] = p.source_counts;
  }

  /// Draws the histograms of what the planner of one node has pending, for all nodes.
  void count(const plan::planner& planner) {
    pending_.clear();
    for (const plan::refinement& bucket : planner.pending()) {
      pending_.push_back({bucket.prefix, bucket.digit, slices_.at(bucket.prefix)});
    }
    num_digits_ = pending_.front().digit.num_buckets();
    counted_.assign(pending_.size() * num_nodes_ * num_digits_, 0);
    for (std::size_t i = 0; i < pending_.size(); ++i) {
      for (unsigned node = 0; node < num_nodes_; ++node) draw(pending_[i], node, counts_of(i, node));
    }
  }

  /// Returns the histograms of the slices of some nodes, of those that are not empty.
  [[nodiscard]] std::vector<std::vector<counts>> histograms_of(plan::rank_group nodes) const {
    std::vector<std::vector<counts>> histograms(pending_.size());
    for (std::size_t i = 0; i < pending_.size(); ++i) {
      for (unsigned node = nodes.first; node < nodes.end(); ++node) {
        if (pending_[i].slices[node] == 0) continue;
        const std::span<const std::uint64_t> its = counts_of(i, node);
        histograms[i].emplace_back(its.begin(), its.end());
      }
    }
    return histograms;
  }

  /// Returns what the nodes' reduction and scan give one of them.
  [[nodiscard]] plan::pass_sums sums_for(unsigned receiver) const {
    plan::pass_sums sums;
    sums.all.resize(pending_.size() * num_digits_);
    for (unsigned node = 0; node < num_nodes_; ++node) {
      if (node == receiver) sums.before = sums.all;
      for (std::size_t i = 0; i < pending_.size(); ++i) {
        const std::span<std::uint64_t> of_bucket = std::span(sums.all).subspan(i * num_digits_, num_digits_);
        std::ranges::transform(of_bucket, counts_of(i, node), of_bucket.begin(), std::plus<>());
      }
    }
    return sums;
  }

  /// Keeps what is asked for later, after a pass of the planner of one node.
  void keep(const plan::planner& planner, unsigned planned) {
    std::map<prefix_order, counts> kept;
    for (const plan::bucket& b : planner.buckets()) {
      if (!b.spans() && b.first_rank != planned) continue;
      const auto known = slices_.find(b.prefix);
      kept[b.prefix] = known != slices_.end() ? known->second : column_of(b.prefix);
    }
    slices_ = std::move(kept);
  }

  /// Returns what all nodes have in the buckets that one of them ends with.
  [[nodiscard]] counts incoming_of(const plan::planner& planner, unsigned receiver) const {
    counts incoming;
    const std::span<const plan::bucket> buckets = planner.buckets_of({receiver, 1});
    for (unsigned node = 0; node < num_nodes_; ++node) {
      for (const plan::bucket& b : buckets) incoming.push_back(slices_.at(b.prefix)[node]);
    }
    return incoming;
  }

  /// The refinements of the pass that has been counted.
  [[nodiscard]] json describe_pass() const {
    counts keys_of_node(num_nodes_);
    for (const counted_bucket& bucket : pending_) {
      for (unsigned node = 0; node < num_nodes_; ++node) keys_of_node[node] += bucket.slices[node];
    }
    return {{"num_refinements", pending_.size()},
            {"digit_bits", pending_.front().digit.bits},
            {"summed_counts", pending_.size() * num_digits_},
            {"keys_partitioned", std::accumulate(keys_of_node.begin(), keys_of_node.end(), std::uint64_t{0})},
            {"most_keys_partitioned_of_a_node", std::ranges::max(keys_of_node)}};
  }

 private:
  struct prefix_order {
    unsigned bit_count = 0;
    std::uint64_t bits = 0;
    prefix_order() = default;
    prefix_order(const spansort::keys::prefix& p) : bit_count(p.bit_count), bits(p.bits) {}
    friend auto operator<=>(const prefix_order&, const prefix_order&) = default;
  };
  struct counted_bucket {
    spansort::keys::prefix prefix;
    spansort::keys::digit_position digit;
    counts slices;  ///< by node
  };

  void draw(const counted_bucket& bucket, unsigned node, std::span<std::uint64_t> histogram) {
    if (bucket.slices[node] == 0) return;
    if (bucket.prefix.bit_count == 0) {
      random_.fill_root(histogram, bucket.slices[node]);
    } else {
      random_.fill(histogram, bucket.slices[node]);
    }
  }
  [[nodiscard]] std::span<std::uint64_t> counts_of(std::size_t bucket, unsigned node) {
    return std::span(counted_).subspan((bucket * num_nodes_ + node) * num_digits_, num_digits_);
  }
  [[nodiscard]] std::span<const std::uint64_t> counts_of(std::size_t bucket, unsigned node) const {
    return std::span(counted_).subspan((bucket * num_nodes_ + node) * num_digits_, num_digits_);
  }
  /// Returns what each node has of a child of a counted bucket.
  [[nodiscard]] counts column_of(const spansort::keys::prefix& child) const {
    const unsigned digit_bits = pending_.front().digit.bits;
    const auto is_before = [&](const counted_bucket& b) { return b.prefix.bits < child.bits >> digit_bits; };
    const auto parent = static_cast<std::size_t>(std::ranges::partition_point(pending_, is_before) - pending_.begin());
    counts column;
    for (unsigned node = 0; node < num_nodes_; ++node) {
      column.push_back(counts_of(parent, node)[child.bits & (num_digits_ - 1)]);
    }
    return column;
  }

  random_histograms random_;
  unsigned num_nodes_;
  std::uint64_t num_digits_ = 0;
  std::map<prefix_order, counts> slices_;  ///< of buckets that are asked for, by node
  std::vector<counted_bucket> pending_;    ///< in the order of their prefixes
  counts counted_;                         ///< by pending bucket, node and digit value
};

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

/// Keys that each node sends each other one; what stays is on the diagonal.
std::vector<counts> traffic_of(const plan::sort_plan& made) {
  std::vector<counts> keys(made.params.num_ranks, counts(made.params.num_ranks));
  for (const plan::transfer& t : made.transfers) keys[t.source_rank][t.destination_rank] += t.count;
  return keys;
}

/// Plans for one node, as each node does for itself, and says how long that took. `whole`, where there is one, gets the
/// counts of all nodes, untimed.
class planned_node {
 public:
  planned_node(const plan::parameters& p, unsigned node, std::uint64_t seed)
      : node_(node), nodes_(p, seed), planner_(make_planner(p)) {}

  [[nodiscard]] json make_passes(plan::planner* whole) {
    json passes = json::array();
    while (!planner_.pending().empty()) {
      nodes_.count(planner_);
      passes.push_back(nodes_.describe_pass());
      const std::vector<std::vector<counts>> histograms = nodes_.histograms_of({node_, 1});
      time([&] { static_cast<void>(planner_.sum(histograms)); });
      const plan::pass_sums sums = nodes_.sums_for(node_);
      time([&] { planner_.add_pass(histograms, sums); });
      nodes_.keep(planner_, node_);
      passes.back()["num_buckets"] = planner_.buckets().size();
      if (whole != nullptr) whole->add_pass(nodes_.histograms_of({0, planner_.params().num_ranks}));
    }
    return passes;
  }

  /// Returns the buckets of the node that ends with the most of them: as many counts each node has for each other one.
  [[nodiscard]] std::size_t most_buckets() const {
    std::size_t most = 0;
    for (unsigned other = 0; other < planner_.params().num_ranks; ++other) {
      most = std::max(most, planner_.buckets_of({other, 1}).size());
    }
    return most;
  }

  [[nodiscard]] plan::sort_plan finish() {
    const counts incoming = nodes_.incoming_of(planner_, node_);
    time([&] {
      for (unsigned other = 0; other < planner_.params().num_ranks; ++other) {
        static_cast<void>(planner_.counts_for({other, 1}));
      }
    });
    plan::sort_plan made;
    time([&] { made = std::move(planner_).finish(incoming); });
    return made;
  }

  [[nodiscard]] double planner_ms() const { return planner_ms_; }

 private:
  [[nodiscard]] plan::planner make_planner(const plan::parameters& p) {
    std::optional<plan::planner> made;
    time([&] { made.emplace(p, plan::rank_group{node_, 1}); });
    return *std::move(made);
  }
  void time(const std::function<void()>& f) {
    const double begin_ms = cpu_ms();
    f();
    planner_ms_ += cpu_ms() - begin_ms;
  }

  double planner_ms_ = 0;
  unsigned node_;
  simulated_nodes nodes_;
  plan::planner planner_;
};

json run_case(unsigned num_nodes, unsigned log2_part, const std::string& sizes, const settings& s) {
  const plan::parameters p = parameters_of(num_nodes, std::uint64_t{1} << log2_part, sizes == "balanced");
  planned_node node(p, num_nodes / 2, s.seed);
  std::optional<plan::planner> whole;
  if (s.wants_matrix) whole.emplace(p);
  json passes = node.make_passes(whole ? &*whole : nullptr);
  const std::size_t most_buckets = node.most_buckets();
  const plan::sort_plan made = node.finish();
  json result = {{"num_nodes", num_nodes},
                 {"part_pairs", std::uint64_t{1} << log2_part},
                 {"sizes", sizes},
                 {"radix_bits", p.radix_bits},
                 {"epsilon", p.epsilon},
                 {"passes", passes},
                 {"most_buckets_of_a_node", most_buckets},
                 {"num_transfers", made.transfers.size()},
                 {"num_local_sorts", made.local_sorts.size()},
                 {"imbalance", made.imbalance()},
                 {"planner_ms", node.planner_ms()}};
  if (whole) result["keys_from_to"] = traffic_of(std::move(*whole).finish());
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
        fmt::print(
            stderr,
            "{:>5} nodes, 2^{} pairs each, {}: {} passes of {} bits, {} transfers of a node, planner {:.1f} ms\n",
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
