// SPDX-License-Identifier: Apache-2.0
// log, exp and cosine from additions, multiplications and divisions alone. The C library's differ in the last bit from
// one machine to the next, and generated keys must not. Good to a few units in the last place, which is plenty for
// random keys. Translation units that include this are compiled with -ffp-contract=off: a fused multiply-add rounds
// once where two operations round twice.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace spansort::generation {

/// Coefficients of a power series, the highest power first, for evaluation by Horner's rule.
template <std::size_t N>
struct power_series {
  double coefficients[N];

  [[nodiscard]] constexpr double operator()(double x) const noexcept {
    double sum = coefficients[0];
#pragma GCC unroll 16
    for (std::size_t i = 1; i < N; ++i) sum = sum * x + coefficients[i];
    return sum;
  }
};

/// The N terms sign^j / (first + j * step)! , j = N - 1 ... 0: exp, and sine and cosine in the square of the angle.
template <std::size_t N>
[[nodiscard]] constexpr power_series<N> factorial_series(int first, int step, double sign) noexcept {
  power_series<N> series{};
  double term = 1;
  for (int i = 2; i <= first; ++i) term /= i;
  for (std::size_t j = 0; j < N; ++j) {
    series.coefficients[N - 1 - j] = term;
    const int next = first + static_cast<int>(j) * step;
    for (int i = next + 1; i <= next + step; ++i) term /= i;
    term *= sign;
  }
  return series;
}

/// 1/3 + x/5 + x^2/7 + ...: what follows the first term of atanh.
[[nodiscard]] constexpr power_series<10> atanh_tail() noexcept {
  power_series<10> series{};
  for (int j = 0; j < 10; ++j) series.coefficients[9 - j] = 1.0 / (3 + 2 * j);
  return series;
}

inline constexpr double ln2_high = 0x1.62e42feep-1;  // 32 bits: times an exponent is exact
inline constexpr double ln2_low = 0x1.a39ef35793c76p-33;
inline constexpr double pi = 0x1.921fb54442d18p+1;

/// Natural logarithm of a positive, finite, normal number.
[[nodiscard]] inline double portable_log(double x) noexcept {
  // x = 2^exponent * m with m in [sqrt(1/2), sqrt(2)); log m = 2 atanh(s), s = (m - 1) / (m + 1), |s| < 0.172.
  constexpr std::uint64_t sqrt_half_bits = 0x3fe6a09e667f3bcd;
  const std::uint64_t shifted = std::bit_cast<std::uint64_t>(x) - sqrt_half_bits;
  const std::int64_t exponent = static_cast<std::int64_t>(shifted) >> 52;
  const double m = std::bit_cast<double>((shifted & 0x000fffffffffffffu) + sqrt_half_bits);
  const double s = (m - 1) / (m + 1);
  const double t = s * s;
  constexpr power_series<10> tail = atanh_tail();
  const double e = static_cast<double>(exponent);
  return e * ln2_high + (e * ln2_low + (2 * s + 2 * s * t * tail(t)));
}

/// e to the power x; 0 below -708, infinity above 709.
[[nodiscard]] inline double portable_exp(double x) noexcept {
  if (!(x > -708)) return 0;
  if (x > 709) return HUGE_VAL;
  const std::int64_t exponent = static_cast<std::int64_t>(x * 0x1.71547652b82fep+0 + 2048.5) - 2048;  // rounds down
  const double k = static_cast<double>(exponent);
  const double r = (x - k * ln2_high) - k * ln2_low;  // |r| <= ln 2 / 2
  constexpr power_series<14> series = factorial_series<14>(0, 1, 1);
  return series(r) * std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52);
}

/// exp(x) - 1 without cancellation near 0 (Kahan).
[[nodiscard]] inline double portable_expm1(double x) noexcept {
  const double e = portable_exp(x);
  if (e == 1) return x;
  const double difference = e - 1;
  if (difference == -1 || e == HUGE_VAL) return difference;
  return difference * x / portable_log(e);
}

/// log(1 + x) without cancellation near 0 (Kahan); x > -1.
[[nodiscard]] inline double portable_log1p(double x) noexcept {
  const double sum = 1 + x;
  if (sum == 1) return x;
  return portable_log(sum) * x / (sum - 1);
}

/// Cosine of `turns` whole turns, 0 <= turns < 1.
[[nodiscard]] inline double portable_cos_turns(double turns) noexcept {
  const int quarter = (static_cast<int>(turns * 8) + 1) / 2;  // nearest quarter turn: 0 to 4
  const double r = (turns - quarter * 0.25) * (2 * pi);       // |r| <= pi / 4
  const double t = r * r;
  constexpr power_series<9> cosine = factorial_series<9>(0, 2, -1);
  constexpr power_series<9> sine_over_r = factorial_series<9>(1, 2, -1);
  // Both, so that no branch depends on a random angle.
  const double choices[2] = {cosine(t), r * sine_over_r(t)};
  const double magnitude = choices[quarter & 1];
  const double signs[2] = {1, -1};
  return magnitude * signs[((quarter + 1) >> 1) & 1];  // cos, -sin, -cos, sin
}

}  // namespace spansort::generation
