// SPDX-License-Identifier: Apache-2.0
#include "device/device.hpp"

namespace spansort::device {

std::string_view name(input_shape shape) noexcept {
  switch (shape) {
    case input_shape::sorted: return "sorted";
    case input_shape::reversed: return "reversed";
    case input_shape::constant: return "constant";
    case input_shape::general: break;
  }
  return "general";
}

}  // namespace spansort::device
