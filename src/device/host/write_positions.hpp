// SPDX-License-Identifier: Apache-2.0
// Positions in ascending or descending order, which an argsort of keys in order is, and every other one begins with.
#pragma once

#include <cstdint>

#include "device/host/records.hpp"

namespace spansort::device::host {

/// Writes `first`, `first` + 1 and so on, `count` numbers. V is value4 or value8.
template <class V>
void write_positions(V* to, std::uint64_t count, std::uint64_t first = 0);

/// Writes `first`, `first` - 1 and so on.
template <class V>
void write_positions_down(V* to, std::uint64_t count, std::uint64_t first);

}  // namespace spansort::device::host
