// SPDX-License-Identifier: Apache-2.0
// The module spansort-png.so: drawings as PNG, by cairo. Two pixels a point.
#include "cli/png/module.hpp"

#include <cairo.h>

#include <exception>
#include <memory>
#include <new>
#include <numbers>
#include <variant>

#include "spansort/version.hpp"

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

void set_ink(cairo_t* context, const color& ink) {
  cairo_set_source_rgba(context, ink.red, ink.green, ink.blue, ink.opacity);
}

void stroke(cairo_t* context, const color& ink, double line_width) {
  set_ink(context, ink);
  cairo_set_line_width(context, line_width);
  cairo_stroke(context);
}

void add_rectangle(cairo_t* context, const rectangle& area) {
  cairo_rectangle(context, area.left, area.top, area.width, area.height);
}

struct shape_painter {
  cairo_t* context;

  void operator()(const filled_shape& s) const {
    set_ink(context, s.ink);
    add_rectangle(context, s.area);
    cairo_fill(context);
  }
  void operator()(const outline_shape& s) const {
    add_rectangle(context, s.area);
    stroke(context, s.ink, s.line_width);
  }
  void operator()(const line_shape& s) const {
    cairo_move_to(context, s.from.x, s.from.y);
    cairo_line_to(context, s.to.x, s.to.y);
    stroke(context, s.ink, s.line_width);
  }
  void operator()(const circle_shape& s) const {
    cairo_new_sub_path(context);
    cairo_arc(context, s.center.x, s.center.y, s.radius, 0, 2 * std::numbers::pi);
    stroke(context, s.ink, s.line_width);
  }
  void operator()(const diamond_shape& s) const {
    cairo_move_to(context, s.center.x - s.radius, s.center.y);
    cairo_line_to(context, s.center.x, s.center.y - s.radius);
    cairo_line_to(context, s.center.x + s.radius, s.center.y);
    cairo_line_to(context, s.center.x, s.center.y + s.radius);
    cairo_close_path(context);
    set_ink(context, s.ink);
    cairo_fill_preserve(context);
    stroke(context, s.edge, 1);
  }
  void operator()(const text_shape& s) const {
    cairo_select_font_face(context, "DejaVu Sans", CAIRO_FONT_SLANT_NORMAL,
                           s.look.is_bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
    cairo_set_font_size(context, s.look.size);
    cairo_text_extents_t extents{};
    cairo_text_extents(context, s.text.c_str(), &extents);
    set_ink(context, s.look.ink);
    cairo_save(context);
    cairo_translate(context, s.at.x, s.at.y);
    if (s.look.is_upright) cairo_rotate(context, -std::numbers::pi / 2);
    cairo_move_to(context, -s.look.anchor * extents.x_advance, 0);
    cairo_show_text(context, s.text.c_str());
    cairo_restore(context);
  }
};

struct cairo_deleter {
  void operator()(cairo_t* context) const noexcept { cairo_destroy(context); }
  void operator()(cairo_surface_t* surface) const noexcept { cairo_surface_destroy(surface); }
};

cairo_status_t draw(const drawing& picture, std::string& bytes) {
  const std::unique_ptr<cairo_surface_t, cairo_deleter> surface(
      cairo_image_surface_create(CAIRO_FORMAT_RGB24, static_cast<int>(picture.width * pixels_per_point),
                                 static_cast<int>(picture.height * pixels_per_point)));
  const std::unique_ptr<cairo_t, cairo_deleter> context(cairo_create(surface.get()));
  cairo_scale(context.get(), pixels_per_point, pixels_per_point);
  for (const shape& s : picture.shapes) std::visit(shape_painter{context.get()}, s);
  const cairo_status_t status = cairo_status(context.get());
  if (status != CAIRO_STATUS_SUCCESS) return status;
  return cairo_surface_write_to_png_stream(surface.get(), append_bytes, &bytes);
}

}  // namespace
}  // namespace cli

extern "C" {

extern const char spansort_png_version[];
const char spansort_png_version[] = SPANSORT_VERSION;

const char* spansort_png_draw(const cli::drawing& picture, std::string& bytes);
const char* spansort_png_draw(const cli::drawing& picture, std::string& bytes) {
  const cairo_status_t status = cli::draw(picture, bytes);
  if (status == CAIRO_STATUS_NO_MEMORY) throw std::bad_alloc();
  return status == CAIRO_STATUS_SUCCESS ? nullptr : cairo_status_to_string(status);
}
}
