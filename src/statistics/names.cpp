// SPDX-License-Identifier: Apache-2.0
// Names of methods and policies: text to enumerator and back.
#include <array>
#include <string_view>

#include "base/names.hpp"
#include "spansort/statistics.hpp"

namespace spansort {
namespace {

// In the order of quantile_method.
constexpr std::array<std::string_view, 14> method_names{"inverted_cdf",
                                                        "averaged_inverted_cdf",
                                                        "closest_observation",
                                                        "interpolated_inverted_cdf",
                                                        "hazen",
                                                        "weibull",
                                                        "linear",
                                                        "median_unbiased",
                                                        "normal_unbiased",
                                                        "lower",
                                                        "higher",
                                                        "midpoint",
                                                        "nearest",
                                                        "tukey"};

// In the order of nan_policy.
constexpr std::array<std::string_view, 3> policy_names{"propagate", "omit", "error"};

}  // namespace

std::string_view name(quantile_method method) noexcept {
  return base::name_at(method_names, static_cast<std::size_t>(method));
}

std::string_view name(nan_policy policy) noexcept {
  return base::name_at(policy_names, static_cast<std::size_t>(policy));
}

quantile_method parse_quantile_method(std::string_view text) {
  return static_cast<quantile_method>(base::find_name(method_names, text, "quantile method"));
}

nan_policy parse_nan_policy(std::string_view text) {
  return static_cast<nan_policy>(base::find_name(policy_names, text, "policy for NaN"));
}

}  // namespace spansort
