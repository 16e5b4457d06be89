// SPDX-License-Identifier: Apache-2.0
#include "cli/svg.hpp"

#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <string_view>
#include <utility>
#include <variant>

namespace cli {
namespace {

/// A thousandth of a point is more than can be seen.
double rounded(double length) { return std::round(length * 1000) / 1000 + 0.0; }

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '<': result += "&lt;"; break;
      case '>': result += "&gt;"; break;
      case '&': result += "&amp;"; break;
      default: result += c;
    }
  }
  return result;
}

/// ` fill="#rrggbb"`, with an opacity where it is not 1; `property` is fill or stroke.
std::string paint(std::string_view property, const color& tint) {
  const auto byte = [](double share) { return static_cast<unsigned>(std::lround(share * 255)); };
  std::string text =
      fmt::format(" {}=\"#{:02x}{:02x}{:02x}\"", property, byte(tint.red), byte(tint.green), byte(tint.blue));
  if (tint.opacity != 1) text += fmt::format(" {}-opacity=\"{}\"", property, tint.opacity);
  return text;
}

std::string stroke(const color& tint, double line_width) {
  return " fill=\"none\"" + paint("stroke", tint) + fmt::format(" stroke-width=\"{}\"", line_width);
}

std::string place(const rectangle& area) {
  return fmt::format("x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"", rounded(area.left), rounded(area.top),
                     rounded(area.width), rounded(area.height));
}

/// One element a shape.
struct element_writer {
  std::string& svg;

  void operator()(const filled_shape& s) const { append("<rect {}{}/>\n", place(s.area), paint("fill", s.ink)); }
  void operator()(const outline_shape& s) const {
    append("<rect {}{}/>\n", place(s.area), stroke(s.ink, s.line_width));
  }
  void operator()(const line_shape& s) const {
    append("<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\"{}/>\n", rounded(s.from.x), rounded(s.from.y), rounded(s.to.x),
           rounded(s.to.y), stroke(s.ink, s.line_width));
  }
  void operator()(const circle_shape& s) const {
    append("<circle cx=\"{}\" cy=\"{}\" r=\"{}\"{}/>\n", rounded(s.center.x), rounded(s.center.y), s.radius,
           stroke(s.ink, s.line_width));
  }
  void operator()(const diamond_shape& s) const {
    append("<path d=\"M{0} {1}l{2} -{2} {2} {2} -{2} {2}z\"{3}{4}/>\n", rounded(s.center.x - s.radius),
           rounded(s.center.y), s.radius, paint("fill", s.ink), paint("stroke", s.edge));
  }
  void operator()(const text_shape& s) const {
    const double x = rounded(s.at.x);
    const double y = rounded(s.at.y);
    append("<text x=\"{}\" y=\"{}\" font-size=\"{}\"{}", x, y, s.look.size, paint("fill", s.look.ink));
    if (s.look.anchor != 0) append(" text-anchor=\"{}\"", s.look.anchor == 1 ? "end" : "middle");
    if (s.look.is_bold) append(" font-weight=\"bold\"");
    if (s.look.is_upright) append(" transform=\"rotate(-90 {} {})\"", x, y);
    append(">{}</text>\n", escaped(s.text));
  }

  template <class... Arguments>
  void append(fmt::format_string<Arguments...> format, Arguments&&... arguments) const {
    fmt::format_to(std::back_inserter(svg), format, std::forward<Arguments>(arguments)...);
  }
};

}  // namespace

std::string to_svg(const drawing& picture) {
  // Blanks between words are kept, as many as there are.
  std::string svg = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}pt\" "
      "height=\"{1}pt\" viewBox=\"0 0 {0} {1}\" font-family=\"DejaVu Sans, Verdana, sans-serif\" "
      "xml:space=\"preserve\">\n",
      picture.width, picture.height);
  for (const shape& s : picture.shapes) std::visit(element_writer{svg}, s);
  return svg + "</svg>\n";
}

}  // namespace cli
