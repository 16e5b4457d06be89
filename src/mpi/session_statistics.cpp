// SPDX-License-Identifier: Apache-2.0
// Order statistics of the keys of all node ranks: those of one process, on keys that lie with several.
#include <fmt/format.h>

#include "mpi/cluster_keys.hpp"
#include "mpi/session_state.hpp"
#include "mpi/sorted_parts.hpp"
#include "sort/arguments.hpp"
#include "spansort/errors.hpp"
#include "spansort/version.hpp"
#include "statistics/box.hpp"
#include "statistics/statistics_of.hpp"

namespace spansort::mpi {
namespace {

std::string to_text(const whisker_rule& rule) {
  if (rule.percentiles) return exactly(rule.percentiles->low) + " " + exactly(rule.percentiles->high);
  return exactly(rule.iqr_factor);
}

/// Opens the keys on all node ranks, whose settings must agree.
std::unique_ptr<cluster_keys> open_keys(session::state& s, const const_key_span& keys, std::vector<setting> settings,
                                        bool descending = false) {
  settings.push_back({"type", std::string(name(keys.type))});
  settings.push_back({"version", SPANSORT_VERSION});
  std::unique_ptr<sorting::gpu_call> call;
  s.together("checking arguments", [&] { sorting::check_keys(keys); });
  s.require_same(settings);
  statistics::key_storage own;
  s.together("taking memory", [&] {
    call = std::make_unique<sorting::gpu_call>(s.devices, s.sort_settings.hooks);
    own = statistics::spread_keys(keys, s.ranks);
  });
  own.call = std::move(call);
  return std::make_unique<cluster_keys>(std::move(own), *s.group, descending);
}

std::vector<std::byte> first_keys(session::state& s, const const_key_span& keys, std::uint64_t k, bool descending,
                                  const top_options& options) {
  const auto opened = open_keys(s, keys,
                                {{"operation", descending ? "top_k" : "bottom_k"},
                                 {"k", std::to_string(k)},
                                 {"nan_policy", std::to_string(static_cast<int>(options.nans))}},
                                descending);
  std::vector<std::byte> found;
  s.agreed([&] { found = opened->slice(0, statistics::num_firsts(*opened, k, options.nans)); });
  return found;
}

}  // namespace

bool session::is_sorted(const_key_span keys, direction d) {
  const call_scope scope(*state_);
  state& s = *state_;
  s.together("checking arguments", [&] { sorting::check_keys(keys); });
  s.require_same({{"operation", "is_sorted"},
                  {"type", std::string(name(keys.type))},
                  {"order", std::string(name(d))},
                  {"version", SPANSORT_VERSION}});
  bool found = false;
  s.agreed([&] { found = are_in_order(*s.group, keys, keys::is_descending(d)); });
  return found;
}

key_rank session::rank_of(const_key_span keys, const void* value) {
  const call_scope scope(*state_);
  std::uint64_t bits = 0;
  state_->together("checking arguments", [&] {
    if (value == nullptr) throw invalid_argument("rank_of: null pointer for the value");
    bits = statistics::bits_of_key(value, 0, static_cast<unsigned>(size_bytes(keys.type)));
  });
  const auto opened = open_keys(*state_, keys, {{"operation", "rank_of"}, {"value", std::to_string(bits)}});
  key_rank found;
  state_->agreed([&] { found = statistics::rank_in(*opened, bits); });
  return found;
}

std::vector<std::byte> session::top_k(const_key_span keys, std::uint64_t k, const top_options& options) {
  const call_scope scope(*state_);
  return first_keys(*state_, keys, k, true, options);
}

std::vector<std::byte> session::bottom_k(const_key_span keys, std::uint64_t k, const top_options& options) {
  const call_scope scope(*state_);
  return first_keys(*state_, keys, k, false, options);
}

std::vector<double> session::quantiles(const_key_span keys, std::span<const double> q,
                                       const quantile_options& options) {
  const call_scope scope(*state_);
  std::string all_q;
  for (const double each : q) all_q += exactly(each) + " ";
  const auto opened = open_keys(*state_, keys,
                                {{"operation", "quantiles"},
                                 {"q", all_q},
                                 {"method", std::string(name(options.method))},
                                 {"nan_policy", std::to_string(static_cast<int>(options.nans))}});
  std::vector<double> found;
  state_->agreed([&] { found = statistics::quantiles_of(*opened, q, options); });
  return found;
}

summary session::summarize(const_key_span keys, const summary_options& options) {
  const call_scope scope(*state_);
  const auto opened = open_keys(*state_, keys,
                                {{"operation", "summarize"},
                                 {"method", std::string(name(options.method))},
                                 {"nan_policy", std::to_string(static_cast<int>(options.nans))},
                                 {"whiskers", to_text(options.whiskers)},
                                 {"most_outliers", std::to_string(options.most_outliers)},
                                 {"with_mean", options.with_mean ? "1" : "0"}});
  summary found;
  state_->agreed([&] {
    // This comes after the node ranks have agreed on the whiskers: what one alone refuses leaves the others waiting.
    statistics::require_valid(options.whiskers);
    found = statistics::summary_of(*opened, options);
  });
  return found;
}

}  // namespace spansort::mpi
