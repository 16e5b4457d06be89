// SPDX-License-Identifier: Apache-2.0
// A box plot of characters:
//              ┌──────┬────────────┐
//       ├──────┤      │     ◆      ├────────────────┤ ○○  ○   ○
//              └──────┴────────────┘
//     ┴───────────┴───────────┴───────────┴───────────┴────────
//     0          20          40          60          80
#include <fmt/format.h>
#include <langinfo.h>
#include <locale.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "cli/summary_text.hpp"

namespace cli {
namespace {

constexpr unsigned fewest_columns = 40;
constexpr unsigned most_columns = 200;
constexpr unsigned margin = 2;

/// The characters of one style.
struct glyphs {
  const char* horizontal;
  const char* vertical;
  const char* top_left;
  const char* top_middle;
  const char* top_right;
  const char* bottom_left;
  const char* bottom_middle;
  const char* bottom_right;
  const char* left_tee;   ///< a line to the right
  const char* right_tee;  ///< a line to the left
  const char* cross;      ///< lines to both sides
  const char* tick;
  const char* mean;
  const char* outlier;
};
constexpr glyphs unicode_glyphs{"─", "│", "┌", "┬", "┐", "└", "┴", "┘", "├", "┤", "┼", "┴", "◆", "○"};
constexpr glyphs ascii_glyphs{"-", "|", "+", "+", "+", "+", "+", "+", "|", "|", "|", "+", "x", "o"};

/// A line of cells, each one character wide.
class cell_line {
 public:
  explicit cell_line(unsigned num_cells) : cells_(num_cells, " ") {}

  void set(unsigned cell, const char* glyph) { cells_[cell] = glyph; }
  void fill(unsigned first, unsigned last, const char* glyph) {
    for (unsigned i = first; i <= last; ++i) cells_[i] = glyph;
  }
  /// Returns the line with the margin and without blanks at the end.
  [[nodiscard]] std::string text() const {
    std::string line(margin, ' ');
    for (const std::string& cell : cells_) line += cell;
    return line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }

 private:
  std::vector<std::string> cells_;
};

/// The cells where the parts of the box plot are.
struct box_cells {
  unsigned whisker_low = 0;
  unsigned lower_quartile = 0;
  unsigned median = 0;
  unsigned upper_quartile = 0;
  unsigned whisker_high = 0;
  unsigned mean = 0;
  bool has_mean = false;
};

unsigned cell_at(double place, unsigned num_cells) {
  return static_cast<unsigned>(std::clamp(place * num_cells, 0.0, num_cells - 1.0));
}

box_cells find_cells(const spansort::summary& box, const axis& a, unsigned num_cells) {
  const auto cell = [&](double value) { return cell_at(a.place_of(value), num_cells); };
  box_cells at{cell(box.whisker_low),
               cell(box.lower_quartile),
               cell(box.median),
               cell(box.upper_quartile),
               cell(box.whisker_high),
               0,
               false};
  at.has_mean = box.mean >= a.low && box.mean <= a.high;
  if (at.has_mean) at.mean = cell(box.mean);
  return at;
}

std::string box_edge(const box_cells& at, unsigned num_cells, const glyphs& g, const char* left, const char* middle,
                     const char* right) {
  cell_line line(num_cells);
  line.fill(at.lower_quartile, at.upper_quartile, g.horizontal);
  line.set(at.lower_quartile, left);
  line.set(at.upper_quartile, right);
  line.set(at.median, middle);
  return line.text();
}

const char* side_of_box(bool has_line_left, bool has_line_right, const glyphs& g) {
  if (has_line_left && has_line_right) return g.cross;
  if (has_line_left) return g.right_tee;
  return has_line_right ? g.left_tee : g.vertical;
}

std::string box_middle(const box_cells& at, const std::vector<outlier_mark>& outliers, unsigned num_cells,
                       const glyphs& g) {
  cell_line line(num_cells);
  for (const outlier_mark& mark : outliers) line.set(cell_at(mark.place, num_cells), g.outlier);
  line.fill(at.whisker_low, at.lower_quartile, g.horizontal);
  line.fill(at.upper_quartile, at.whisker_high, g.horizontal);
  line.set(at.whisker_low, g.left_tee);
  line.set(at.whisker_high, g.right_tee);
  line.fill(at.lower_quartile, at.upper_quartile, " ");
  const bool has_low = at.whisker_low < at.lower_quartile;
  const bool has_high = at.whisker_high > at.upper_quartile;
  const bool is_narrow = at.lower_quartile == at.upper_quartile;
  line.set(at.lower_quartile, side_of_box(has_low, is_narrow && has_high, g));
  line.set(at.upper_quartile, side_of_box(is_narrow && has_low, has_high, g));
  if (at.median != at.lower_quartile && at.median != at.upper_quartile) line.set(at.median, g.vertical);
  if (at.has_mean) line.set(at.mean, g.mean);
  return line.text();
}

struct placed_label {
  unsigned tick_cell = 0;
  unsigned begin = 0;
  std::string text;
};

/// Labels centred below their ticks, within the line; nothing where two would touch.
std::optional<std::vector<placed_label>> place_labels(const tick_row& row, const axis& a, unsigned num_cells) {
  std::vector<placed_label> labels;
  unsigned free_from = 0;
  for (const tick& t : row.ticks) {
    const auto width = static_cast<unsigned>(t.label.size());
    const unsigned cell = cell_at(a.place_of(t.value), num_cells);
    if (width > num_cells) return std::nullopt;
    const unsigned begin = std::min(cell - std::min(cell, width / 2), num_cells - width);
    if (begin < free_from) return std::nullopt;
    free_from = begin + width + 2;
    labels.push_back({cell, begin, t.label});
  }
  return labels;
}

std::string axis_lines(const axis& a, unsigned num_cells, const glyphs& g, int& exponent) {
  constexpr unsigned cells_per_tick = 6;
  std::vector<placed_label> labels;
  for (unsigned most = num_cells / cells_per_tick; most >= 3 && labels.empty(); --most) {
    const tick_row row = make_ticks(a, most, true);
    exponent = row.exponent;
    if (auto placed = place_labels(row, a, num_cells)) labels = std::move(*placed);
  }
  cell_line line(num_cells);
  line.fill(0, num_cells - 1, g.horizontal);
  std::string texts(margin, ' ');
  for (const placed_label& l : labels) {
    line.set(l.tick_cell, g.tick);
    texts.resize(margin + l.begin, ' ');
    texts += l.text;
  }
  return line.text() + texts + "\n";
}

/// The first `most` characters.
std::string shortened(const std::string& text, std::size_t most) {
  std::size_t num_characters = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool begins_character = (static_cast<unsigned char>(text[i]) & 0xc0u) != 0x80u;
    if (begins_character && num_characters++ == most) return text.substr(0, i);
  }
  return text;
}

std::string legend(const key_summary& summary, const axis& a, int exponent, const text_style& style) {
  const glyphs& g = style.is_unicode ? unicode_glyphs : ascii_glyphs;
  const std::string indent(margin, ' ');
  std::string text;
  if (!summary.caption.empty()) text += indent + shortened(summary.caption, num_plot_cells(style)) + "\n";
  text += indent;
  if (exponent != 0) text += fmt::format("in units of 1e{}; ", exponent);
  if (a.scale != axis_scale::linear) text += fmt::format("{} axis; ", name(a.scale));
  if (std::isfinite(summary.box.mean)) text += fmt::format("{} mean, ", g.mean);
  return text + fmt::format("{} outliers\n", g.outlier);
}

bool locale_is_utf8() {
  const locale_t locale = ::newlocale(LC_CTYPE_MASK, "", locale_t{});
  if (locale == locale_t{}) return false;
  const bool is_utf8 = std::strcmp(::nl_langinfo_l(CODESET, locale), "UTF-8") == 0;
  ::freelocale(locale);
  return is_utf8;
}

unsigned wanted_columns() {
  if (const char* const text = std::getenv("COLUMNS")) {
    unsigned columns = 0;
    const char* const end = text + std::strlen(text);
    const auto parsed = std::from_chars(text, end, columns);
    if (parsed.ec == std::errc{} && parsed.ptr == end && columns != 0) return columns;
  }
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col != 0) return size.ws_col;
  return 80;
}

}  // namespace

text_style detect_text_style() {
  return {std::clamp(wanted_columns(), fewest_columns, most_columns), locale_is_utf8()};
}

unsigned num_plot_cells(const text_style& style) { return style.num_columns - 2 * margin; }

std::string text_box_plot(const key_summary& summary, const axis& value_axis, const std::vector<outlier_mark>& outliers,
                          const text_style& style) {
  const glyphs& g = style.is_unicode ? unicode_glyphs : ascii_glyphs;
  const unsigned num_cells = num_plot_cells(style);
  const box_cells at = find_cells(summary.box, value_axis, num_cells);
  int exponent = 0;
  std::string text = box_edge(at, num_cells, g, g.top_left, g.top_middle, g.top_right);
  text += box_middle(at, outliers, num_cells, g);
  text += box_edge(at, num_cells, g, g.bottom_left, g.bottom_middle, g.bottom_right);
  text += axis_lines(value_axis, num_cells, g, exponent);
  return text + legend(summary, value_axis, exponent, style);
}

}  // namespace cli
