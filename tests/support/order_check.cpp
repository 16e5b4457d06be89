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
};

std::string diagnose_answers(const answers& found, const answers& expected) {
  if (std::string wrong = diagnose_numbers("quantiles", found.quantiles, expected.quantiles); !wrong.empty()) {
    return wrong;
  }
  if (std::string wrong = diagnose_summaries(found.whole, expected.whole); !wrong.empty()) return wrong;
  if (found.ranks != expected.ranks) return "ranks differ";
  if (found.top != expected.top) return "top_k differs";
  return found.bottom == expected.bottom ? "" : "bottom_k differs";
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
  [[nodiscard]] rank_options of_rank() const { return {order, devices}; }
  [[nodiscard]] top_options of_top(nan_policy nans) const { return {nans, order, devices}; }
};

answers ask_host(std::span<const std::byte> keys, key_type type, const access& a) {
  const const_key_span span(type, keys.data(), keys.size() / size_bytes(type));
  answers found{quantiles(span, asked_q, a.of_quantiles()), summarize(span, a.of_summary()), {}, {}, {}};
  for (const std::size_t place : {std::uint64_t{0}, span.num_keys / 2, span.num_keys - 1}) {
    found.ranks.push_back(rank_of(span, keys.data() + place * size_bytes(type), a.of_rank()));
  }
  found.top = top_k(span, 1 + span.num_keys / 10, a.of_top(nan_policy::omit));
  found.bottom = bottom_k(span, 1 + span.num_keys / 3, a.of_top(nan_policy::propagate));
  return found;
}

answers ask_resident(std::span<const std::byte> keys, key_type type, std::span<const shard> shards, const access& a) {
  const std::uint64_t n = keys.size() / size_bytes(type);
  answers found{quantiles_resident(type, shards, asked_q, a.of_quantiles()),
                summarize_resident(type, shards, a.of_summary()),
                {},
                {},
                {}};
  for (const std::size_t place : {std::uint64_t{0}, n / 2, n - 1}) {
    found.ranks.push_back(rank_of_resident(type, shards, keys.data() + place * size_bytes(type), a.of_rank()));
  }
  found.top = top_k_resident(type, shards, 1 + n / 10, a.of_top(nan_policy::omit));
  found.bottom = bottom_k_resident(type, shards, 1 + n / 3, a.of_top(nan_policy::propagate));
  return found;
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
  const answers expected = ask_host(keys, c.type, {.devices = "cpu"});
  const base::test_hooks_scope hooks(c.hooks);
  return diagnose_answers(ask_resident(keys, c.type, shards, {c.order, c.devices}), expected);
}

std::string diagnose_spread(std::span<const std::byte> keys, const order_case& c) {
  const answers expected = ask_host(keys, c.type, {.devices = "cpu"});
  const base::test_hooks_scope hooks(c.hooks);
  return diagnose_answers(ask_host(keys, c.type, {c.order, c.devices}), expected);
}

}  // namespace spansort::test
