// SPDX-License-Identifier: Apache-2.0
// Pictures are drawn with a canvas: lines, areas and text. A drawing is plain data, from which a file of any format is
// made. Lengths are in points; y grows downwards.
#pragma once

#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace cli {

struct color {
  double red = 0;
  double green = 0;
  double blue = 0;
  double opacity = 1;
};

struct point {
  double x = 0;
  double y = 0;
};

struct rectangle {
  double left = 0;
  double top = 0;
  double width = 0;
  double height = 0;
};

struct text_look {
  double size = 10;
  color ink = {};
  double anchor = 0;  ///< what part of the text lies left of the point: 0, 0.5, 1
  bool is_bold = false;
  bool is_upright = false;  ///< read from below
};

struct filled_shape {
  rectangle area;
  color ink;
};

struct outline_shape {
  rectangle area;
  double line_width = 1;
  color ink;
};

struct line_shape {
  point from;
  point to;
  double line_width = 1;
  color ink;
};

struct circle_shape {
  point center;
  double radius = 1;
  double line_width = 1;
  color ink;
};

struct diamond_shape {
  point center;
  double radius = 1;
  color ink;
  color edge;
};

/// The point is on the baseline. Text is UTF-8 without control characters.
struct text_shape {
  point at;
  std::string text;
  text_look look;
};

using shape = std::variant<filled_shape, outline_shape, line_shape, circle_shape, diamond_shape, text_shape>;

/// Later shapes cover earlier ones.
struct drawing {
  double width = 0;
  double height = 0;
  std::vector<shape> shapes;
};

/// Collects the shapes of a drawing on white.
class canvas {
 public:
  canvas(double width, double height) : drawing_{width, height, {}} { fill({0, 0, width, height}, {1, 1, 1}); }

  void fill(const rectangle& area, const color& ink) { drawing_.shapes.emplace_back(filled_shape{area, ink}); }
  void outline(const rectangle& area, double line_width, const color& ink) {
    drawing_.shapes.emplace_back(outline_shape{area, line_width, ink});
  }
  void line(point from, point to, double line_width, const color& ink) {
    drawing_.shapes.emplace_back(line_shape{from, to, line_width, ink});
  }
  void circle(point center, double radius, double line_width, const color& ink) {
    drawing_.shapes.emplace_back(circle_shape{center, radius, line_width, ink});
  }
  void diamond(point center, double radius, const color& ink, const color& edge) {
    drawing_.shapes.emplace_back(diamond_shape{center, radius, ink, edge});
  }
  void text(point at, std::string text, const text_look& look) {
    drawing_.shapes.emplace_back(text_shape{at, std::move(text), look});
  }

  [[nodiscard]] drawing finish() { return std::move(drawing_); }

 private:
  drawing drawing_;
};

/// About the width of the text in DejaVu Sans, which is wider than most other fonts without serifs: what fits by this
/// measure fits in the picture. No font is needed to know it.
[[nodiscard]] double text_width(const std::string& text, const text_look& look);

}  // namespace cli
