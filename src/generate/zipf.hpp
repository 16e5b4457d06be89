// SPDX-License-Identifier: Apache-2.0
// Zipf ranks by rejection-inversion: W. Hoermann, G. Derflinger, "Rejection-inversion to generate variates from
// monotone discrete distributions", ACM TOMACS 6(3), 1996. Constant memory and few rejections for any exponent >= 0
// and any number of ranks. Every index has its own sequence of draws, so rejections do not disturb its neighbours.
#pragma once

#include <cstdint>

#include "generate/random.hpp"

namespace spansort::generation {

class zipf_sampler {
 public:
  /// Ranks 1 to num_ranks, drawn with probability ~ 1 / rank^exponent.
  zipf_sampler(std::uint64_t seed, double exponent, std::uint64_t num_ranks);

  /// The rank at `index`.
  [[nodiscard]] std::uint64_t operator()(std::uint64_t index) const noexcept;

 private:
  [[nodiscard]] double weight(double x) const noexcept;            // h(x) = x^-exponent
  [[nodiscard]] double integral(double x) const noexcept;          // H(x), an antiderivative of h
  [[nodiscard]] double inverse_integral(double y) const noexcept;  // H^-1(y)

  std::uint64_t seed_;
  random_stream first_draw_;
  double exponent_;
  std::uint64_t num_ranks_;
  double integral_first_;  // H(3/2) - h(1)
  double integral_last_;   // H(num_ranks + 1/2)
  double shortcut_;        // accept at once when rank - x is at most this
};

}  // namespace spansort::generation
