// SPDX-License-Identifier: Apache-2.0
// Keys as numbers.
#pragma once

#include <cstdint>

#include "spansort/types.hpp"

namespace spansort::statistics {

/// The number that a key's bits mean; 64-bit integers rounded to the nearest double, every NaN a NaN. `bits` above the
/// key's width are ignored.
[[nodiscard]] double key_value(key_type type, std::uint64_t bits) noexcept;

}  // namespace spansort::statistics
