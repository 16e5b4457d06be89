// SPDX-License-Identifier: Apache-2.0
// Order statistics of the keys of all node ranks: those of one process, on keys that lie with several.
#include <fmt/format.h>

#include "api/arguments.hpp"
#include "api/mpi/cluster_keys.hpp"
#include "api/mpi/session_state.hpp"
#include "api/statistics_of.hpp"
#include "spansort/errors.hpp"
#include "spansort/version.hpp"
#include "statistics/box.hpp"

namespace spansort::mpi {
namespace {

std::string to_text(const whisker_rule& rule) {
  if (rule.percentiles) return api::exactly(rule.percentiles->low) + " " + api::exactly(rule.percentiles->high);
  return api::exactly(rule.iqr_factor);
}

/// Opens the keys on all node ranks, whose settings must agree.
std::unique_ptr<api::cluster_keys> open_keys(session::state& s, const const_key_span& keys,
                                             std::vector<api::setting> settings) {
  settings.push_back({"type", std::string(name(keys.type))});
  settings.push_back({"version", SPANSORT_VERSION});
  std::unique_ptr<api::gpu_call> call;
  s.together("checking arguments", [&] { api::check_keys(keys); });
  s.require_same(settings);
  api::key_storage own;
  s.together("taking memory", [&] {
    call = std::make_unique<api::gpu_call>(s.devices, s.given.tuning);
    own = api::spread_keys(keys, s.ranks);
  });
  own.call = std::move(call);
  return std::make_unique<api::cluster_keys>(std::move(own), *s.group);
}

}  // namespace

std::vector<double> session::quantiles(const_key_span keys, std::span<const double> q,
                                       const quantile_options& options) {
  std::string all_q;
  for (const double each : q) all_q += api::exactly(each) + " ";
  const auto opened = open_keys(*state_, keys,
                                {{"operation", "quantiles"},
                                 {"q", all_q},
                                 {"method", std::string(name(options.method))},
                                 {"nan_policy", std::to_string(static_cast<int>(options.nans))}});
  std::vector<double> found;
  state_->agreed([&] { found = api::quantiles_of(*opened, q, options); });
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
  state_->agreed([&] { found = api::summary_of(*opened, options); });
  return found;
}

}  // namespace spansort::mpi
