// SPDX-License-Identifier: Apache-2.0
// The seam between the command and spansort-png.so, a module that draws PNG with cairo. It is loaded when a PNG is
// asked for, so that the command itself starts without cairo and all that cairo needs: fonts, X11.
#pragma once

#include <string>

#include "cli/canvas.hpp"

namespace cli {

inline constexpr const char* png_module_file = "spansort-png.so";

/// Names of what the module offers: a text, which is to equal SPANSORT_VERSION, and the function.
inline constexpr const char* png_version_symbol = "spansort_png_version";
inline constexpr const char* png_draw_symbol = "spansort_png_draw";

/// Appends the file's bytes. Returns null, or why there is no picture. Throws bad_alloc.
using png_draw_function = const char*(const drawing& picture, std::string& bytes);

}  // namespace cli
