// SPDX-License-Identifier: Apache-2.0
#include "cli/axis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "spansort/errors.hpp"

namespace cli {
namespace {

// A box below this share of a linear axis is a line to the eye.
constexpr double readable_share = 0.02;
// How much wider another scale must make it to be worth the reader's effort.
constexpr double worthwhile_gain = 4;

/// Decades that the linear part of symlog takes: so many that the slope is the same on both sides of the bound, and a
/// histogram has no step there.
constexpr double linear_decades = std::numbers::log10e;

/// The value in the unit of the scale, a quarter of it, so that differences stay finite.
double scaled(const axis& a, double value) {
  if (a.scale == axis_scale::linear) return value / 4;
  if (a.scale == axis_scale::log) return std::log10(value) / 4;
  const double ratio = std::abs(value) / a.linear_bound;
  return std::copysign(ratio <= 1 ? ratio * linear_decades : linear_decades + std::log10(ratio), value) / 4;
}

double unscaled(const axis& a, double quarter) {
  if (a.scale == axis_scale::linear) return quarter * 4;
  if (a.scale == axis_scale::log) return std::pow(10, quarter * 4);
  const double decades = std::abs(quarter * 4);
  const double ratio = decades <= linear_decades ? decades / linear_decades : std::pow(10, decades - linear_decades);
  return std::copysign(ratio * a.linear_bound, quarter);
}

/// Ends that differ by less than ticks could show are moved apart.
void widen(axis& a) {
  const double magnitude = std::max(std::abs(a.low), std::abs(a.high));
  const double least = std::max(1e-300, magnitude * 4e-15);
  if (a.high - a.low > least) return;
  const double limit = std::numeric_limits<double>::max();
  const double half = std::max(0.5, magnitude * 1e-14);
  a.low = a.scale == axis_scale::log ? a.low / 2 : std::max(a.low - half, -limit);
  a.high = std::min(a.high + half, limit);
}

axis with_scale(const axis_data& data, axis_scale scale) {
  axis a{scale, data.low, data.high, std::pow(10, std::round(std::log10(data.smallest_magnitude))),
         data.are_integers ? 1.0 : 0.0};
  widen(a);
  return a;
}

double box_share(const axis& a, const axis_data& data) {
  return a.place_of(data.upper_quartile) - a.place_of(data.lower_quartile);
}

std::string minus_sign(bool ascii) { return ascii ? "-" : "−"; }

std::string grouped_digits(std::string digits, bool ascii) {
  const std::size_t point = std::min(digits.find('.'), digits.size());
  if (ascii || point < 5) return digits;
  for (std::size_t i = point; i > 3;) digits.insert(i -= 3, "\u202f");
  return digits;
}

/// 1, 2 or 5 times a power of ten, at least `least`.
double round_step(double least) {
  const double power = std::pow(10, std::floor(std::log10(least)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= least * (1 - 1e-9)) return factor * power;
  }
  return 10 * power;
}

int exponent_of(double value) { return static_cast<int>(std::floor(std::log10(value) + 1e-9)); }

/// The power of ten that large and small numbers share, in steps of three. Where ticks differ only behind many digits,
/// these digits are shown and no exponent helps.
int shared_exponent(double magnitude, double step) {
  const int exponent = exponent_of(magnitude);
  if (exponent >= -3 && exponent < 6) return 0;
  if (exponent - exponent_of(step) > 4) return 0;
  return (exponent >= 0 ? exponent : exponent - 2) / 3 * 3;
}

tick_row linear_ticks(const axis& a, unsigned most, bool ascii) {
  // Divided first, so that nothing overflows.
  const double step = std::max(round_step(a.high / most - a.low / most), a.least_step);
  tick_row row;
  row.exponent = shared_exponent(std::max(std::abs(a.low), std::abs(a.high)), step);
  const double unit = std::pow(10, row.exponent);
  const int decimals = std::max(row.exponent - exponent_of(step), 0);
  for (double i = std::ceil(a.low / step - 1e-9); i * step <= a.high && row.ticks.size() <= most; ++i) {
    const double value = i == 0 ? 0 : i * step;
    const std::string digits = grouped_digits(fmt::format("{:.{}f}", std::abs(value) / unit, decimals), ascii);
    row.ticks.push_back({value, value < 0 ? minus_sign(ascii) + digits : digits});
  }
  return row;
}

std::string decade_label(double sign, int exponent, bool plain, bool ascii) {
  const std::string minus = sign < 0 ? minus_sign(ascii) : "";
  if (plain && exponent >= 0) return minus + grouped_digits(fmt::format("{:.0f}", std::pow(10, exponent)), ascii);
  if (plain) return minus + fmt::format("{:.{}f}", std::pow(10, exponent), -exponent);
  if (exponent == 0 || exponent == 1) return minus + (exponent == 0 ? "1" : "10");
  return minus + (ascii ? fmt::format("1e{}", exponent) : "10" + superscript(exponent));
}

struct decade {
  double value = 0;
  int exponent = 0;
};

/// Powers of ten, of both signs where the axis has both, and 0.
std::vector<decade> decades_on(const axis& a) {
  std::vector<decade> decades;
  const auto add = [&](double value, int exponent) {
    if (value >= a.low && value <= a.high) decades.push_back({value, exponent});
  };
  constexpr int least = -323;
  constexpr int greatest = 308;
  const int first = a.scale == axis_scale::symlog ? static_cast<int>(std::lround(std::log10(a.linear_bound))) : least;
  if (a.scale == axis_scale::symlog) {
    for (int e = greatest; e >= first; --e) add(-std::pow(10, e), e);
    add(0, first - 1);
  }
  for (int e = first; e <= greatest; ++e) add(std::pow(10, e), e);
  return decades;
}

tick_row decade_ticks(const axis& a, unsigned most, bool ascii) {
  const std::vector<decade> all = decades_on(a);
  const int every = static_cast<int>((all.size() + most - 1) / most);
  // Of several decades those are kept whose exponents the step divides, counted from 0 on the axis where that is on it.
  const bool has_zero = a.scale == axis_scale::symlog && a.low <= 0 && a.high >= 0;
  const int origin = has_zero ? static_cast<int>(std::lround(std::log10(a.linear_bound))) - 1 : 0;
  std::vector<decade> kept;
  for (const decade& d : all) {
    if ((d.exponent - origin) % std::max(every, 1) == 0) kept.push_back(d);
  }
  bool plain = true;
  for (const decade& d : kept) plain = plain && (d.value == 0 || (d.exponent >= -3 && d.exponent <= 4));
  tick_row row;
  for (const decade& d : kept) {
    row.ticks.push_back({d.value, d.value == 0 ? "0" : decade_label(d.value, d.exponent, plain, ascii)});
  }
  return row;
}

}  // namespace

std::string_view name(axis_scale scale) noexcept {
  switch (scale) {
    case axis_scale::linear: return "linear";
    case axis_scale::log: return "log";
    case axis_scale::symlog: break;
  }
  return "symlog";
}

double axis::place_of(double value) const noexcept {
  const double begin = scaled(*this, low);
  return (scaled(*this, value) - begin) / (scaled(*this, high) - begin);
}

double axis::value_at(double place) const noexcept {
  const double begin = scaled(*this, low);
  return std::clamp(unscaled(*this, begin + place * (scaled(*this, high) - begin)), low, high);
}

axis make_axis(const axis_data& data, std::optional<axis_scale> scale) {
  if (scale == axis_scale::log && data.low <= 0) {
    throw spansort::invalid_argument(fmt::format(
        "--scale log: the least value is {}, positive ones are expected; try --scale symlog", value_text(data.low)));
  }
  if (scale) return with_scale(data, *scale);
  const axis linear = with_scale(data, axis_scale::linear);
  const double share = box_share(linear, data);
  if (share == 0 || share >= readable_share) return linear;
  const axis other = with_scale(data, data.low > 0 ? axis_scale::log : axis_scale::symlog);
  return box_share(other, data) >= share * worthwhile_gain ? other : linear;
}

tick_row make_ticks(const axis& a, unsigned most, bool ascii) {
  most = std::max(most, 3u);
  if (a.scale == axis_scale::linear) return linear_ticks(a, most, ascii);
  tick_row row = decade_ticks(a, most, ascii);
  // Less than two powers of ten on it: as good as linear.
  return row.ticks.size() >= 2 ? row : linear_ticks(a, most, ascii);
}

std::vector<double> minor_ticks(const axis& a) {
  constexpr std::size_t most_decades = 16;
  if (a.scale == axis_scale::linear) return {};
  const std::vector<decade> decades = decades_on(a);
  if (decades.size() > most_decades) return {};
  std::vector<double> values;
  for (const decade& d : decades) {
    // Those of the decade above a power of ten; of the first one on the axis also those below it.
    for (int factor = 2; factor <= 9; ++factor) {
      values.push_back(d.value * factor);
      if (&d == &decades.front() && d.value > 0) values.push_back(d.value / 10 * factor);
    }
  }
  std::erase_if(values, [&](double v) { return v == 0 || v < a.low || v > a.high; });
  return values;
}

std::string superscript(int exponent) {
  constexpr const char* digits[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  std::string text = exponent < 0 ? "⁻" : "";
  for (const char c : std::to_string(std::abs(exponent))) text += digits[c - '0'];
  return text;
}

std::string grouped_count(std::uint64_t count) { return grouped_digits(std::to_string(count), false); }

std::string value_text(double value) {
  constexpr double most_whole = 18446744073709551616.0;  // 64-bit keys in full, the greatest as its nearest double
  if (std::isnan(value)) return "nan";                   // without the sign that some machines give to a NaN they make
  if (value == std::floor(value) && std::abs(value) <= most_whole) return fmt::format("{:.0f}", value == 0 ? 0 : value);
  return fmt::format("{:.7g}", value);
}

}  // namespace cli
