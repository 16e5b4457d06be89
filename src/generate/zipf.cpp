// SPDX-License-Identifier: Apache-2.0
// Rejection-inversion for Zipf ranks; names in comments are the paper's.
#include "generate/zipf.hpp"

#include <algorithm>
#include <cmath>

#include "generate/portable_math.hpp"
#include "generate/random.hpp"

namespace spansort::generation {
namespace {

// (exp(x) - 1) / x and log(1 + x) / x, continued through 0: they make exponent 1 no special case.
double expm1_over_x(double x) noexcept { return std::fabs(x) < 1e-8 ? 1 + x / 2 : portable_expm1(x) / x; }
double log1p_over_x(double x) noexcept { return std::fabs(x) < 1e-8 ? 1 - x / 2 : portable_log1p(x) / x; }

}  // namespace

zipf_sampler::zipf_sampler(std::uint64_t seed, double exponent, std::uint64_t num_ranks)
    : seed_(seed), first_draw_(seed, 0), exponent_(exponent), num_ranks_(num_ranks) {
  integral_first_ = integral(1.5) - 1;
  integral_last_ = integral(static_cast<double>(num_ranks) + 0.5);
  shortcut_ = 2 - inverse_integral(integral(2.5) - weight(2));
}

double zipf_sampler::weight(double x) const noexcept { return portable_exp(-exponent_ * portable_log(x)); }

double zipf_sampler::integral(double x) const noexcept {
  const double log_x = portable_log(x);
  return expm1_over_x((1 - exponent_) * log_x) * log_x;
}

double zipf_sampler::inverse_integral(double y) const noexcept {
  // Rounding may push the argument below -1, where the logarithm ends.
  const double t = std::max(y * (1 - exponent_), -1 + 0x1p-52);
  return portable_exp(log1p_over_x(t) * y);
}

std::uint64_t zipf_sampler::operator()(std::uint64_t index) const noexcept {
  for (std::uint64_t draw = 0;; ++draw) {
    const double unit = to_unit((draw == 0 ? first_draw_ : random_stream(seed_, draw))(index));
    const double u = integral_last_ + unit * (integral_first_ - integral_last_);
    const double x = std::clamp(inverse_integral(u), 1.0, static_cast<double>(num_ranks_));
    const auto rounded = static_cast<std::uint64_t>(x + 0.5);
    const auto rank = static_cast<double>(rounded);
    if (rank - x <= shortcut_ || u >= integral(rank + 0.5) - weight(rank)) {
      return std::min(rounded, num_ranks_);
    }
  }
}

}  // namespace spansort::generation
