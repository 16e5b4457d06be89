// SPDX-License-Identifier: Apache-2.0
// Drawings as PNG, by a module that is loaded when it is asked for.
#pragma once

#include <string>

#include "cli/canvas.hpp"

namespace cli {

/// Throws invalid_argument where the module cannot be loaded: this build or this machine has no cairo.
void require_png();

/// The bytes of the file. Throws as require_png(), and internal_error where cairo cannot draw.
[[nodiscard]] std::string to_png(const drawing& picture);

}  // namespace cli
