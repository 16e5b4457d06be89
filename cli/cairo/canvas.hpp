// SPDX-License-Identifier: Apache-2.0
// What pictures are drawn with: lines, areas and text on a cairo surface, and the bytes that come of it. Lengths are in
// points; y grows downwards.
#pragma once

#include <memory>
#include <string>

#include "cli/draw_summary.hpp"

using cairo_t = struct _cairo;
using cairo_surface_t = struct _cairo_surface;

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

class canvas {
 public:
  canvas(double width, double height, picture_format format);
  ~canvas();
  canvas(const canvas&) = delete;
  canvas& operator=(const canvas&) = delete;

  void fill(const rectangle& area, const color& ink);
  void outline(const rectangle& area, double line_width, const color& ink);
  void line(point from, point to, double line_width, const color& ink);
  void circle(point center, double radius, double line_width, const color& ink);
  void diamond(point center, double radius, const color& ink, const color& edge);
  /// The point is on the baseline. Text is UTF-8.
  void text(point at, const std::string& text, const text_look& look);
  [[nodiscard]] double width_of(const std::string& text, const text_look& look);

  /// Ends the drawing. Throws bad_alloc, internal_error.
  [[nodiscard]] std::string finish();

 private:
  void use_font(const text_look& look);

  picture_format format_;
  std::unique_ptr<std::string> bytes_ = std::make_unique<std::string>();
  cairo_surface_t* surface_ = nullptr;
  cairo_t* context_ = nullptr;
};

}  // namespace cli
