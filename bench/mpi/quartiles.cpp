// SPDX-License-Identifier: Apache-2.0
#include "bench/mpi/quartiles.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <spansort/mpi.hpp>

#include "bench/circumstances.hpp"
#include "bench/mpi/pairs.hpp"
#include "bench/mpi/timing.hpp"

namespace bench {
namespace {

using json = nlohmann::ordered_json;

constexpr std::array<double, 3> quartiles{0.25, 0.5, 0.75};

/// Returns whether `found` are the keys that stand where the quartiles are in the sorted whole, of which `part` begins
/// at `begin`.
bool are_quartiles(const node_ranks& nodes, const std::vector<double>& found, const std::vector<std::uint64_t>& part,
                   std::uint64_t begin, std::uint64_t num_keys) {
  bool is_right = found.size() == quartiles.size();
  for (std::uint64_t i = 0; is_right && i < quartiles.size(); ++i) {
    const std::uint64_t position = (num_keys - 1) / 4 * (i + 1) + (num_keys - 1) % 4 * (i + 1) / 4;
    if (position < begin || position - begin >= part.size()) continue;
    is_right = found[i] == static_cast<double>(part[position - begin]);
  }
  return nodes.all(is_right);
}

json result_of(const std::string& algorithm, const std::vector<double>& runs_ms, std::uint64_t num_keys,
               bool verified) {
  const double fastest_ms = std::ranges::min(runs_ms);
  return {{"algorithm", algorithm},
          {"radix_bits", 0},
          {"median_ms", median(runs_ms)},
          {"fastest_ms", fastest_ms},
          {"million_keys_per_s", static_cast<double>(num_keys) / fastest_ms / 1e3},
          {"verified", verified},
          {"runs_ms", runs_ms}};
}

}  // namespace

json run_quartiles(const node_ranks& nodes, const sort_case& c, const settings& s) {
  const std::vector<std::uint64_t> keys = make_part(nodes, c.distribution, c.num_keys, s.seed).keys;
  std::uint64_t begin = 0;
  const std::vector<std::array<std::uint64_t, 5>> sizes = nodes.gather(std::array<std::uint64_t, 5>{keys.size()});
  for (unsigned r = 0; r < nodes.self(); ++r) begin += sizes[r][0];
  const double load_before = load_average();
  spansort::mpi::session session(MPI_COMM_WORLD, {.devices = s.devices});
  std::vector<double> sort_ms, select_ms;
  bool verified = true;
  for (unsigned round = 0; round <= s.repeats; ++round) {  // the first warms up
    std::vector<std::uint64_t> sorted = keys;
    std::vector<double> found;
    const double sort_run_ms = slowest_ms(nodes, [&] { session.sort(sorted); });
    const double select_run_ms = slowest_ms(
        nodes, [&] { found = session.quantiles(keys, quartiles, {.method = spansort::quantile_method::lower}); });
    if (s.spoil) found.at(0) += 1e6;
    verified = are_quartiles(nodes, found, sorted, begin, c.num_keys) && verified;
    if (round == 0) continue;
    sort_ms.push_back(sort_run_ms);
    select_ms.push_back(select_run_ms);
  }
  json results = json::array({result_of("distributed_rmg", sort_ms, c.num_keys, verified),
                              result_of("quantiles", select_ms, c.num_keys, verified)});
  return {{"suite", c.suite},
          {"num_ranks", nodes.count()},
          {"distribution", c.distribution},
          {"num_pairs", c.num_keys},
          {"record", "64-bit key"},
          {"seed", s.seed},
          {"load_average_before", load_before},
          {"load_average_after", load_average()},
          {"results", results}};
}

}  // namespace bench
