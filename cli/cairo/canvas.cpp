// SPDX-License-Identifier: Apache-2.0
#include "cli/cairo/canvas.hpp"

#include <cairo-svg.h>
#include <cairo.h>
#include <fmt/format.h>

#include <exception>
#include <new>
#include <numbers>

#include "spansort/errors.hpp"

namespace cli {
namespace {

constexpr double pixels_per_point = 2;

// Called from C, which no exception may pass through.
cairo_status_t append_bytes(void* bytes, const unsigned char* data, unsigned length) noexcept {
  try {
    static_cast<std::string*>(bytes)->append(reinterpret_cast<const char*>(data), length);
    return CAIRO_STATUS_SUCCESS;
  } catch (const std::exception&) {
    return CAIRO_STATUS_NO_MEMORY;
  }
}

void require_success(cairo_status_t status) {
  if (status == CAIRO_STATUS_SUCCESS) return;
  if (status == CAIRO_STATUS_NO_MEMORY) throw std::bad_alloc();
  throw spansort::internal_error(fmt::format("--plot: cairo cannot draw: {}", cairo_status_to_string(status)));
}

void set_ink(cairo_t* context, const color& ink) {
  cairo_set_source_rgba(context, ink.red, ink.green, ink.blue, ink.opacity);
}

}  // namespace

canvas::canvas(double width, double height, picture_format format) : format_(format) {
  if (format == picture_format::svg) {
    surface_ = cairo_svg_surface_create_for_stream(append_bytes, bytes_.get(), width, height);
  } else {
    surface_ = cairo_image_surface_create(CAIRO_FORMAT_RGB24, static_cast<int>(width * pixels_per_point),
                                          static_cast<int>(height * pixels_per_point));
  }
  context_ = cairo_create(surface_);
  if (format == picture_format::png) cairo_scale(context_, pixels_per_point, pixels_per_point);
  fill({0, 0, width, height}, {1, 1, 1});
}

canvas::~canvas() {
  cairo_destroy(context_);
  cairo_surface_destroy(surface_);
}

void canvas::fill(const rectangle& area, const color& ink) {
  set_ink(context_, ink);
  cairo_rectangle(context_, area.left, area.top, area.width, area.height);
  cairo_fill(context_);
}

void canvas::outline(const rectangle& area, double line_width, const color& ink) {
  set_ink(context_, ink);
  cairo_set_line_width(context_, line_width);
  cairo_rectangle(context_, area.left, area.top, area.width, area.height);
  cairo_stroke(context_);
}

void canvas::line(point from, point to, double line_width, const color& ink) {
  set_ink(context_, ink);
  cairo_set_line_width(context_, line_width);
  cairo_move_to(context_, from.x, from.y);
  cairo_line_to(context_, to.x, to.y);
  cairo_stroke(context_);
}

void canvas::circle(point center, double radius, double line_width, const color& ink) {
  set_ink(context_, ink);
  cairo_set_line_width(context_, line_width);
  cairo_new_sub_path(context_);
  cairo_arc(context_, center.x, center.y, radius, 0, 2 * std::numbers::pi);
  cairo_stroke(context_);
}

void canvas::diamond(point center, double radius, const color& ink, const color& edge) {
  cairo_move_to(context_, center.x - radius, center.y);
  cairo_line_to(context_, center.x, center.y - radius);
  cairo_line_to(context_, center.x + radius, center.y);
  cairo_line_to(context_, center.x, center.y + radius);
  cairo_close_path(context_);
  set_ink(context_, ink);
  cairo_fill_preserve(context_);
  set_ink(context_, edge);
  cairo_set_line_width(context_, 1);
  cairo_stroke(context_);
}

void canvas::use_font(const text_look& look) {
  cairo_select_font_face(context_, "DejaVu Sans", CAIRO_FONT_SLANT_NORMAL,
                         look.is_bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
  cairo_set_font_size(context_, look.size);
}

double canvas::width_of(const std::string& text, const text_look& look) {
  use_font(look);
  cairo_text_extents_t extents{};
  cairo_text_extents(context_, text.c_str(), &extents);
  return extents.x_advance;
}

void canvas::text(point at, const std::string& text, const text_look& look) {
  const double shift = look.anchor * width_of(text, look);
  set_ink(context_, look.ink);
  cairo_save(context_);
  cairo_translate(context_, at.x, at.y);
  if (look.is_upright) cairo_rotate(context_, -std::numbers::pi / 2);
  cairo_move_to(context_, -shift, 0);
  cairo_show_text(context_, text.c_str());
  cairo_restore(context_);
}

std::string canvas::finish() {
  require_success(cairo_status(context_));
  if (format_ == picture_format::png) {
    require_success(cairo_surface_write_to_png_stream(surface_, append_bytes, bytes_.get()));
  }
  cairo_surface_finish(surface_);
  require_success(cairo_surface_status(surface_));
  return std::move(*bytes_);
}

}  // namespace cli
