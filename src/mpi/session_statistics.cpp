// SPDX-License-Identifier: Apache-2.0
// Order statistics of the keys of all node ranks: those of one process, on keys that lie with several.
#include <fmt/format.h>

#include "mpi/cluster_keys.hpp"
#include "mpi/session_state.hpp"
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
std::unique_ptr<cluster_keys> open_keys(session::state& s, const const_key_span& keys, std::vector<setting> settings) {
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
  return std::make_unique<cluster_keys>(std::move(own), *s.group);
}

}  // namespace

std::vector<double> session::quantiles(const_key_span keys, std::span<const double> q,
                                       const quantile_options& options) {
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
  state_->agreed([&] { statistics::require_valid(options.whiskers); });
  const auto opened = open_keys(*state_, keys,
                                {{"operation", "summarize"},
                                 {"method", std::string(name(options.method))},
                                 {"nan_policy", std::to_string(static_cast<int>(options.nans))},
                                 {"whiskers", to_text(options.whiskers)},
                                 {"most_outliers", std::to_string(options.most_outliers)},
                                 {"with_mean", options.with_mean ? "1" : "0"}});
  summary found;
  state_->agreed([&] { found = statistics::summary_of(*opened, options); });
  return found;
}

}  // namespace spansort::mpi
