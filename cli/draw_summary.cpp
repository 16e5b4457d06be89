// SPDX-License-Identifier: Apache-2.0
// The layout of a summary's picture: title, box plot, histogram, their axis, and a legend.
#include "cli/draw_summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace cli {
namespace {

// Points.
constexpr double picture_width = 800;
constexpr double picture_height = 500;
constexpr double right_edge = picture_width - 28;
constexpr double box_top = 74;
constexpr double box_bottom = 150;
constexpr double bars_top = 164;
constexpr double bars_bottom = 412;
constexpr double narrowest_left = 60;
// Of the axis, to either side of the data.
constexpr double axis_padding = 0.02;

constexpr color ink{0.13, 0.13, 0.13};
constexpr color faint_ink{0.40, 0.40, 0.40};
constexpr color grid_ink{0.90, 0.90, 0.90};
constexpr color bar_ink{0.55, 0.69, 0.83};
constexpr color box_ink{0.78, 0.86, 0.93};
constexpr color line_ink{0.16, 0.32, 0.50};
constexpr color median_ink{0.80, 0.33, 0.00};
constexpr color outlier_ink{0.16, 0.32, 0.50, 0.45};
constexpr color white{1, 1, 1};

constexpr text_look title_look{.size = 15, .ink = ink, .is_bold = true};
constexpr text_look facts_look{.size = 10.5, .ink = faint_ink};
constexpr text_look tick_look{.size = 10, .ink = ink, .anchor = 0.5};
constexpr text_look count_look{.size = 10, .ink = ink, .anchor = 1};
constexpr text_look axis_look{.size = 11, .ink = ink, .anchor = 0.5};
constexpr text_look count_axis_look{.size = 11, .ink = ink, .anchor = 0.5, .is_upright = true};
constexpr text_look legend_look{.size = 9, .ink = faint_ink};

/// Everything that drawing needs, and where values go.
struct sheet {
  canvas& paper;
  const key_summary& summary;
  const picture_data& data;
  double left = narrowest_left;

  [[nodiscard]] double x_of_place(double place) const {
    const double padding = (right_edge - left) * axis_padding;
    return left + padding + place * (right_edge - left - 2 * padding);
  }
  [[nodiscard]] double x_of(double value) const { return x_of_place(data.value_axis.place_of(value)); }
};

/// Cut so that it fits, with an ellipsis in the middle: the end of a path says most.
std::string fitted(const std::string& text, const text_look& look, double width) {
  if (text_width(text, look) <= width) return text;
  const auto is_inside_character = [&](std::size_t i) {
    return i < text.size() && (static_cast<unsigned char>(text[i]) & 0xc0u) == 0x80u;
  };
  for (std::size_t kept = text.size(); kept > 0; --kept) {
    std::size_t head = kept / 3;
    std::size_t tail = text.size() - (kept - kept / 3);
    while (is_inside_character(head)) --head;
    while (is_inside_character(tail)) ++tail;
    const std::string shorter = text.substr(0, head) + "…" + text.substr(tail);
    if (text_width(shorter, look) <= width) return shorter;
  }
  return "…";
}

/// Writes as many digits as tell the box from a point, five at least, and whole numbers in full unless they are very
/// long.
std::string fact(double value, double iqr) {
  if (!std::isfinite(value)) return std::isnan(value) ? "undefined" : value < 0 ? "−∞" : "∞";
  constexpr double long_from = 1e10;
  const double magnitude = std::abs(value);
  const double digits = iqr > 0 && magnitude > iqr ? std::ceil(std::log10(magnitude / iqr)) + 3 : 0;
  std::string text = fmt::format("{:.{}g}", magnitude, static_cast<int>(std::clamp(digits, 5.0, 17.0)));
  if (magnitude == std::floor(magnitude) && magnitude < long_from) {
    text = grouped_count(static_cast<std::uint64_t>(magnitude));
  } else if (const std::size_t at = text.find('e'); at != std::string::npos) {
    text = text.substr(0, at) + " · 10" + superscript(std::stoi(text.substr(at + 1)));
  }
  return value < 0 ? "−" + text : text;
}

std::string facts_text(const key_summary& s) {
  const spansort::summary& box = s.box;
  const std::uint64_t num_outliers = box.num_outliers_below + box.num_outliers_above;
  constexpr const char* separator = "   |   ";
  std::string text = fmt::format("n = {}", grouped_count(box.count));
  if (box.nan_count != 0) text += fmt::format(" and {} NaN", grouped_count(box.nan_count));
  text += fmt::format("{}median {}", separator, fact(box.median, box.iqr));
  text += fmt::format("{}quartiles {} and {}", separator, fact(box.lower_quartile, box.iqr),
                      fact(box.upper_quartile, box.iqr));
  text += fmt::format("{}mean {}", separator, fact(box.mean, box.iqr));
  text += fmt::format("{}{} outlier{}", separator, grouped_count(num_outliers), num_outliers == 1 ? "" : "s");
  if (num_outliers == 0) return text;
  return text + fmt::format(" ({:.2g} %)", 100 * static_cast<double>(num_outliers) / static_cast<double>(box.count));
}

void draw_title(const sheet& s) {
  const double width = right_edge - s.left;
  s.paper.text({s.left, 32}, fitted(s.summary.name, title_look, width), title_look);
  const std::string facts = facts_text(s.summary);
  text_look look = facts_look;
  while (text_width(facts, look) > width && look.size > 6) look.size -= 0.5;
  s.paper.text({s.left, 53}, fitted(facts, look, width), look);
}

/// Ticks whose labels keep their distance, as many as fit.
tick_row fitting_ticks(const sheet& s) {
  constexpr unsigned most_ticks = 10;
  constexpr double least_gap = 10;
  for (unsigned most = most_ticks;; --most) {
    tick_row row = make_ticks(s.data.value_axis, most, false);
    double free_from = 0;
    bool fits = true;
    for (const tick& t : row.ticks) {
      const double half = text_width(t.label, tick_look) / 2;
      const double x = s.x_of(t.value);
      fits = fits && x - half >= free_from && x + half <= picture_width;
      free_from = x + half + least_gap;
    }
    if (fits) return row;
    if (most == 3) {
      row.ticks.resize(std::min<std::size_t>(row.ticks.size(), 1));
      return row;
    }
  }
}

std::string value_caption(const sheet& s, int exponent) {
  std::string text =
      s.summary.caption.empty() ? fmt::format("value ({})", spansort::name(s.summary.type)) : s.summary.caption;
  if (exponent != 0) text += fmt::format(", in units of 10{}", superscript(exponent));
  if (s.data.value_axis.scale == axis_scale::log) text += " (logarithmic axis)";
  if (s.data.value_axis.scale == axis_scale::symlog) {
    text += fmt::format(" (logarithmic axis, linear {}{})", s.data.value_axis.low < 0 ? "within ±" : "up to ",
                        value_text(s.data.value_axis.linear_bound));
  }
  return text;
}

void draw_value_axis(const sheet& s) {
  const tick_row row = fitting_ticks(s);
  for (const tick& t : row.ticks) {
    const double x = s.x_of(t.value);
    s.paper.line({x, box_top}, {x, bars_bottom}, 0.8, grid_ink);
    s.paper.line({x, bars_bottom}, {x, bars_bottom + 5}, 1, ink);
    s.paper.text({x, bars_bottom + 18}, t.label, tick_look);
  }
  for (const double value : minor_ticks(s.data.value_axis)) {
    const double x = s.x_of(value);
    s.paper.line({x, bars_bottom}, {x, bars_bottom + 2.5}, 0.7, ink);
  }
  const double middle = (s.left + right_edge) / 2;
  const std::string caption = fitted(value_caption(s, row.exponent), axis_look, right_edge - s.left);
  s.paper.text({middle, bars_bottom + 39}, caption, axis_look);
}

struct count_axis {
  axis scale;
  tick_row row;

  [[nodiscard]] double y_of(double count) const {
    return bars_bottom - scale.place_of(count) * (bars_bottom - bars_top);
  }
};

count_axis make_count_axis(const picture_data& data) {
  const std::uint64_t greatest = std::max<std::uint64_t>(1, *std::ranges::max_element(data.counts));
  count_axis counts;
  counts.scale.high = static_cast<double>(greatest) * 1.04;
  counts.scale.least_step = 1;
  counts.row = make_ticks(counts.scale, 5, false);
  return counts;
}

void draw_count_axis(const sheet& s, const count_axis& counts) {
  for (const tick& t : counts.row.ticks) {
    const double y = counts.y_of(t.value);
    if (t.value != 0) s.paper.line({s.left, y}, {right_edge, y}, 0.8, grid_ink);
    s.paper.text({s.left - 6, y + 3.5}, t.label, count_look);
  }
  std::string caption = "keys per bin";
  if (counts.row.exponent != 0) caption += fmt::format(", in units of 10{}", superscript(counts.row.exponent));
  s.paper.text({18, (bars_top + bars_bottom) / 2}, caption, count_axis_look);
}

void draw_bars(const sheet& s, const count_axis& counts) {
  for (std::size_t i = 0; i < s.data.counts.size(); ++i) {
    if (s.data.counts[i] == 0) continue;
    const double begin = s.x_of(s.data.edges[i]);
    const double end = s.x_of(s.data.edges[i + 1]);
    // A bin with a single key among many others is still seen.
    const double top = std::min(counts.y_of(static_cast<double>(s.data.counts[i])), bars_bottom - 0.8);
    const double gap = std::min(0.6, (end - begin) / 8);
    s.paper.fill({begin + gap / 2, top, end - begin - gap, bars_bottom - top}, bar_ink);
  }
  s.paper.line({s.left, bars_bottom}, {right_edge, bars_bottom}, 1, ink);
}

/// Several outliers of a cell lie at different heights, always the same.
void draw_outliers(const sheet& s, const std::vector<outlier_mark>& outliers) {
  constexpr std::uint64_t most_per_cell = 3;
  constexpr double golden_ratio = 0.6180339887498949;
  constexpr double spread = 22;
  constexpr double middle = (box_top + box_bottom) / 2;
  std::uint64_t num_drawn = 0;
  for (const outlier_mark& mark : outliers) {
    const double x = s.x_of_place(mark.place);
    for (std::uint64_t i = 0; i < std::min(mark.count, most_per_cell); ++i) {
      const double turn = static_cast<double>(num_drawn++) * golden_ratio;
      s.paper.circle({x, middle + (turn - std::floor(turn) - 0.5) * spread}, 2.3, 0.8, outlier_ink);
    }
  }
}

void draw_box(const sheet& s) {
  constexpr double middle = (box_top + box_bottom) / 2;
  constexpr double half = 21;
  constexpr double cap = 10;
  const spansort::summary& box = s.summary.box;
  const double q1 = s.x_of(box.lower_quartile);
  const double q3 = s.x_of(box.upper_quartile);
  const double low = s.x_of(box.whisker_low);
  const double high = s.x_of(box.whisker_high);
  s.paper.line({low, middle}, {q1, middle}, 1.3, line_ink);
  s.paper.line({q3, middle}, {high, middle}, 1.3, line_ink);
  s.paper.line({low, middle - cap}, {low, middle + cap}, 1.3, line_ink);
  s.paper.line({high, middle - cap}, {high, middle + cap}, 1.3, line_ink);
  s.paper.fill({q1, middle - half, q3 - q1, 2 * half}, box_ink);
  s.paper.outline({q1, middle - half, q3 - q1, 2 * half}, 1.3, line_ink);
  const double median = s.x_of(box.median);
  s.paper.line({median, middle - half}, {median, middle + half}, 2.4, median_ink);
  const bool has_mean = box.mean >= s.data.value_axis.low && box.mean <= s.data.value_axis.high;
  if (has_mean) s.paper.diamond({s.x_of(box.mean), middle}, 5, ink, white);
}

std::string whisker_text(const spansort::whisker_rule& rule) {
  if (!rule.percentiles) return fmt::format("last keys within {} IQR of the box", value_text(rule.iqr_factor));
  return fmt::format("last keys within percentiles {} and {}", value_text(rule.percentiles->low),
                     value_text(rule.percentiles->high));
}

void draw_legend(const sheet& s) {
  const std::string first = fmt::format(
      "Box: quartiles and median ({}); diamond: mean; whiskers: {}; circles: outliers, up to three a place.",
      spansort::name(s.summary.options.method), whisker_text(s.summary.options.whiskers));
  std::string second = fmt::format("Histogram: {} bin{}, equally wide on this axis.", s.data.counts.size(),
                                   s.data.counts.size() == 1 ? "" : "s");
  if (s.data.num_not_shown != 0) {
    second += fmt::format(" {} keys lie beyond it, infinite ones among them.", grouped_count(s.data.num_not_shown));
  }
  s.paper.text({s.left, picture_height - 25}, first, legend_look);
  s.paper.text({s.left, picture_height - 12}, second, legend_look);
}

}  // namespace

drawing draw_summary(const key_summary& summary, const picture_data& data, const std::vector<outlier_mark>& outliers) {
  canvas paper(picture_width, picture_height);
  sheet s{paper, summary, data};
  const count_axis counts = make_count_axis(data);
  for (const tick& t : counts.row.ticks) s.left = std::max(s.left, text_width(t.label, count_look) + 36);
  draw_title(s);
  draw_value_axis(s);
  draw_count_axis(s, counts);
  draw_bars(s, counts);
  draw_outliers(s, outliers);
  draw_box(s);
  draw_legend(s);
  return paper.finish();
}

}  // namespace cli
