// SPDX-License-Identifier: Apache-2.0
// Positions 0, 1, 2, ... are the values that an argsort begins with.
#pragma once

#include <cstdint>

#include "device/cuda/kernels/request.hpp"

namespace spansort::device::cuda {

/// Writes `count` positions from `first` on as integers of 4 or 8 bytes.
void launch_write_positions(const launch_site& site, void* positions, unsigned index_bytes, std::uint64_t count,
                            std::uint64_t first = 0);

/// Writes what an argsort of `count` keys returns whose decision is not order_action::passes; else nothing.
void launch_ordered_positions(const launch_site& site, const order_action* decision, void* positions,
                              unsigned index_bytes, std::uint64_t count);

}  // namespace spansort::device::cuda
