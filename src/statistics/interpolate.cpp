// SPDX-License-Identifier: Apache-2.0
#include "statistics/interpolate.hpp"

#include <cmath>
#include <numeric>

namespace spansort::statistics {
namespace {

/// Interpolates where upper - lower overflows or is NaN.
double interpolate_far(double lower, double upper, double weight) noexcept {
  if (lower == upper || weight == 0) return lower;
  if (weight == 1) return upper;
  // The difference of the halves does not overflow, and no bit is lost: finite ends that get here are both huge.
  if (std::isfinite(lower) && std::isfinite(upper)) return 2 * interpolate(lower / 2, upper / 2, weight);
  if (std::isfinite(lower)) return upper;
  if (std::isfinite(upper)) return lower;
  if (weight == 0.5) return 0;
  return weight < 0.5 ? lower : upper;
}

}  // namespace

double interpolate(double lower, double upper, double weight) noexcept {
  const double difference = upper - lower;
  if (!std::isfinite(difference)) return interpolate_far(lower, upper, weight);
  if (weight >= 0.5) return upper - difference * (1 - weight);
  return lower + difference * weight;
}

double mean_of_two(double lower, double upper) noexcept {
  if (!std::isfinite(upper - lower)) return interpolate_far(lower, upper, 0.5);
  return std::midpoint(lower, upper);
}

}  // namespace spansort::statistics
