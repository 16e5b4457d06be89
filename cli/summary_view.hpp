// SPDX-License-Identifier: Apache-2.0
// This header says what `spansort summary` knows of a file's keys, and what its pictures show of them: an axis, the
// bins of a histogram and the places of outliers. Table, terminal, JSON and picture are made from this alone.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/asked_quantiles.hpp"
#include "cli/axis.hpp"
#include "cli/key_source.hpp"
#include "spansort/statistics.hpp"
#include "spansort/types.hpp"

namespace cli {

inline constexpr std::array<double, 9> decile_q{0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9};
inline constexpr std::array<double, 2> high_percentile_q{0.95, 0.99};

struct key_summary {
  std::string name;     ///< of the file
  std::string caption;  ///< what the values are, with their unit
  spansort::key_type type = spansort::key_type::u8;
  spansort::summary_options options;
  spansort::summary box;
  std::array<double, 9> deciles{};
  std::array<double, 2> high_percentiles{};  ///< the quantiles at high_percentile_q
  std::vector<double> asked_q;               ///< what the user asked for, in this order
  std::vector<double> asked_quantiles;
};

/// Outliers that are held, and listed in JSON.
inline constexpr std::uint64_t most_listed_outliers = 100'000;

/// Summary, deciles, the 95th and 99th percentile and the quantiles at `asked_q` of a file's keys. Of no keys, every
/// statistic is NaN. Throws what summarize() throws; bad_input names the file.
[[nodiscard]] key_summary describe_keys(const std::string& path, const key_source& keys,
                                        const spansort::summary_options& options,
                                        const std::vector<double>& asked_q = default_quantiles());

/// Median ± 1.57 iqr / sqrt(count): where medians of such samples differ. McGill, Tukey and Larsen, Variations of Box
/// Plots, 1978; as matplotlib's cilo and cihi.
struct median_interval {
  double low = 0;
  double high = 0;
};
[[nodiscard]] median_interval notch_of(const spansort::summary& box);

/// Keys of one cell of the axis that lie beyond the whiskers.
struct outlier_mark {
  double place = 0;
  std::uint64_t count = 0;
};

/// The positions at which everything is drawn.
struct picture_data {
  axis value_axis;
  std::vector<double> edges;  ///< of bins that are equally wide on the axis
  std::vector<std::uint64_t> counts;
  std::uint64_t num_not_shown = 0;  ///< infinite keys, and what lies beyond the ends that they leave unknown
};

/// The axis from the least to the greatest key, with bins after NumPy's rule `auto` (the narrower of Freedman and
/// Diaconis's and Sturges's), 100 at most. On a linear axis the edges are numpy.linspace's. Integers that would get
/// bins of less than four have bins of whole integers instead, which end halfway between them. Nothing where quartiles
/// or whiskers are NaN or infinite. `mark_cells`: as outliers will be asked for; keys that are read anew for each
/// question are then read once for all.
[[nodiscard]] std::optional<picture_data> make_picture_data(const key_source& keys, const key_summary& summary,
                                                            std::optional<axis_scale> scale,
                                                            std::span<const unsigned> mark_cells = {});

/// Outliers by cells of the axis, of which there are `num_cells`, ascending. Where the summary holds too few of them,
/// all are counted in the keys.
[[nodiscard]] std::vector<outlier_mark> find_outlier_marks(const key_source& keys, const key_summary& summary,
                                                           const axis& value_axis, unsigned num_cells);

/// The name as valid UTF-8 without control characters; '?' in their place.
[[nodiscard]] std::string printable(const std::string& text);

}  // namespace cli
