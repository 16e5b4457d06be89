// SPDX-License-Identifier: Apache-2.0
// The axis that box plot and histogram share: from values to places on it, and where its ticks go.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cli {

enum class axis_scale : std::uint8_t {
  linear,
  log,    ///< for positive values
  symlog  ///< linear up to a bound on either side of 0, a decade for every factor of ten beyond
};

/// "linear", "log", "symlog".
[[nodiscard]] std::string_view name(axis_scale scale) noexcept;

/// Finite ends, low < high.
struct axis {
  axis_scale scale = axis_scale::linear;
  double low = 0;
  double high = 1;
  double linear_bound = 1;  ///< symlog: a power of ten
  double least_step = 0;    ///< between ticks: 1 for integers

  /// 0 at `low`, 1 at `high`, linear between on the scale; finite values only.
  [[nodiscard]] double place_of(double value) const noexcept;
  /// The inverse of place_of(), within [low, high].
  [[nodiscard]] double value_at(double place) const noexcept;
};

/// What the choice of a scale looks at. All finite.
struct axis_data {
  double low = 0;
  double high = 0;
  double lower_quartile = 0;
  double upper_quartile = 0;
  double smallest_magnitude = 1;  ///< symlog may be linear below; above 0
  bool are_integers = false;
};

/// An axis from `low` to `high`, wider where they are equal (as numpy.histogram: by 0.5 on either side). Without a
/// scale: linear unless the box would be less than a fiftieth of it, and log or symlog (values of 0 or less) would make
/// it several times wider. Throws invalid_argument where log is asked for and a value is not positive.
[[nodiscard]] axis make_axis(const axis_data& data, std::optional<axis_scale> scale);

struct tick {
  double value = 0;
  std::string label;
};

/// Ticks, and the power of ten that labels leave to the axis title (0: none).
struct tick_row {
  std::vector<tick> ticks;
  int exponent = 0;
};

/// Returns up to `most` + 1 ticks at round values, ascending; `most` below 3 is 3. `ascii` writes 1e6 instead of
/// superscripts, and no blanks between thousands.
[[nodiscard]] tick_row make_ticks(const axis& a, unsigned most, bool ascii);

/// Values between powers of ten, twice to nine times each; none on a linear axis, or where they would touch.
[[nodiscard]] std::vector<double> minor_ticks(const axis& a);

/// "10" needs it raised: "⁻³".
[[nodiscard]] std::string superscript(int exponent);

/// "12 345" with narrow no-break spaces from five digits on.
[[nodiscard]] std::string grouped_count(std::uint64_t count);

/// A value for people: whole numbers in full, others to seven digits.
[[nodiscard]] std::string value_text(double value);

}  // namespace cli
