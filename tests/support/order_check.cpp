// SPDX-License-Identifier: Apache-2.0
#include "support/order_check.hpp"

#include <bit>
#include <cmath>

#include "spansort/resident_statistics.hpp"
#include "spansort/top_k.hpp"
#include "support/shard_memory.hpp"

namespace spansort::test {
namespace {

const std::vector<double> asked_q{0, 0.1, 0.25, 1.0 / 3, 0.5, 0.75, 0.99, 1};

std::vector<double> numbers_of(const summary& s) {
  std::vector<double> all{s.minimum, s.lower_quartile, s.median,     s.upper_quartile, s.maximum,     s.mean,
                          s.iqr,     s.fence_low,      s.fence_high, s.whisker_low,    s.whisker_high};
  for (const std::uint64_t count : {s.count, s.nan_count, s.num_outliers_below, s.num_outliers_above}) {
    all.push_back(static_cast<double>(count));
  }
  all.insert(all.end(), s.bowley_seven.begin(), s.bowley_seven.end());
  all.insert(all.end(), s.normal_seven.begin(), s.normal_seven.end());
  all.insert(all.end(), s.outliers.begin(), s.outliers.end());
  return all;
}

std::string diagnose_numbers(const char* what, const std::vector<double>& found, const std::vector<double>& expected) {
  if (found.size() != expected.size()) {
    return std::string(what) + ": " + std::to_string(found.size()) + " numbers, not " + std::to_string(expected.size());
  }
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (std::isnan(found[i]) && std::isnan(expected[i])) continue;
    if (std::bit_cast<std::uint64_t>(found[i]) == std::bit_cast<std::uint64_t>(expected[i])) continue;
    return std::string(what) + ": number " + std::to_string(i) + " is " + std::to_string(found[i]) + ", expected " +
           std::to_string(expected[i]);
  }
  return "";
}

/// Everything that is asked of one set of keys.
struct answers {
  std::vector<double> quantiles;
  summary whole;
  std::vector<key_rank> ranks;
  std::vector<std::byte> top;
  std::vector<std::byte> bottom;
  std::vector<std::uint64_t> bins;
  std::vector<std::uint64_t> top_positions;
  std::vector<std::uint64_t> bottom_positions;
};

std::string diagnose_answers(const answers& found, const answers& expected) {
  if (std::string wrong = diagnose_numbers("quantiles", found.quantiles, expected.quantiles); !wrong.empty()) {
    return wrong;
  }
  if (std::string wrong = diagnose_summaries(found.whole, expected.whole); !wrong.empty()) return wrong;
  if (found.ranks != expected.ranks) return "ranks differ";
  if (found.top != expected.top) return "top_k differs";
  if (found.bottom != expected.bottom) return "bottom_k differs";
  if (found.bins != expected.bins) return "histogram differs";
  if (found.top_positions != expected.top_positions) return "top_k_indices differs";
  return found.bottom_positions == expected.bottom_positions ? "" : "bottom_k_indices differs";
}

/// The options that every function of a case is called with.
struct access {
  key_order order = key_order::unknown;
  std::string devices;

  [[nodiscard]] quantile_options of_quantiles() const {
    return {.nans = nan_policy::omit, .order = order, .devices = devices};
  }
  [[nodiscard]] summary_options of_summary() const {
    return {.nans = nan_policy::omit, .most_outliers = 20, .order = order, .devices = devices};
  }
  [[nodiscard]] top_options of_top(nan_policy nans) const { return {nans, order, devices}; }
};

/// Asks everything of `asked`: keys in host memory or shards. `keys` are the same keys in host memory.
template <class Keys>
answers ask(const Keys& asked, const const_key_span& keys, const access& a) {
  const std::uint64_t n = keys.num_keys;
  answers found;
  found.quantiles = quantiles(asked, asked_q, a.of_quantiles());
  found.whole = summarize(asked, a.of_summary());
  found.bins = histogram(asked, equal_width_edges(-100, 100, 70), {a.order, a.devices});
  for (const std::uint64_t at : {std::uint64_t{0}, n / 2, n - 1}) {
    const auto* const value = static_cast<const std::byte*>(keys.data) + at * size_bytes(keys.type);
    found.ranks.push_back(rank_of(asked, value, {a.order, a.devices}));
  }
  found.top = top_k(asked, 1 + n / 10, a.of_top(nan_policy::omit));
  found.bottom = bottom_k(asked, 1 + n / 3, a.of_top(nan_policy::propagate));
  found.top_positions = top_k_indices(asked, 1 + n / 3, a.of_top(nan_policy::propagate));
  found.bottom_positions = bottom_k_indices(asked, 1 + n / 10, a.of_top(nan_policy::omit));
  return found;
}

const_key_span as_span(std::span<const std::byte> keys, key_type type) {
  return {type, keys.data(), keys.size() / size_bytes(type)};
}

}  // namespace

std::string diagnose_summaries(const summary& found, const summary& expected) {
  return diagnose_numbers("summary", numbers_of(found), numbers_of(expected));
}

std::string diagnose_resident(std::span<const std::byte> keys, const order_case& c) {
  const std::vector<std::string> devices = devices_of_list(c.devices);
  const std::size_t width = size_bytes(c.type);
  std::vector<shard_memory> memory;
  std::vector<shard> shards;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < c.sizes.size(); ++i) {
    memory.emplace_back(devices[i], c.sizes[i] * width);
    memory[i].write(keys.subspan(begin, c.sizes[i] * width));
    shards.push_back({.keys = memory[i].data(), .num_keys = c.sizes[i]});
    begin += c.sizes[i] * width;
  }
  const answers expected = ask(as_span(keys, c.type), as_span(keys, c.type), {.devices = "cpu"});
  const base::test_hooks_scope hooks(c.hooks);
  return diagnose_answers(ask(const_sharded_keys(c.type, shards), as_span(keys, c.type), {c.order, c.devices}),
                          expected);
}

std::string diagnose_spread(std::span<const std::byte> keys, const order_case& c) {
  const answers expected = ask(as_span(keys, c.type), as_span(keys, c.type), {.devices = "cpu"});
  const base::test_hooks_scope hooks(c.hooks);
  return diagnose_answers(ask(as_span(keys, c.type), as_span(keys, c.type), {c.order, c.devices}), expected);
}

}  // namespace spansort::test
