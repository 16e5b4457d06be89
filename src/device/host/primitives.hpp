// SPDX-License-Identifier: Apache-2.0
// The host device's primitives, blocking: what a queue runs when a request's turn comes. One instantiation unit a key
// width (primitives_u8.cpp ... primitives_u64.cpp).
#pragma once

#include <cstdint>

#include "device/device.hpp"
#include "device/host/sort_level.hpp"
#include "device/host/workers.hpp"

namespace spansort::device::host {

/// What a request runs with.
struct execution {
  workers& team;
  sort_limits limits;
  monitor* watch = nullptr;
};

// K is the unsigned integer as wide as the request's keys.
template <class K>
void run_histogram(const execution& with, const histogram_request& request);
template <class K>
void run_count_intervals(const execution& with, const interval_request& request);
template <class K>
void run_partition(const execution& with, const partition_request& request, const records* destinations);
template <class K>
local_sort_outcome run_local_sort(const execution& with, const local_sort_request& request);
template <class K>
void run_swap_mirrored(const execution& with, const swap_mirrored_request& request);
template <class K>
void run_merge(const execution& with, const merge_request& request);

/// Returns what an input with these neighbours is called.
[[nodiscard]] input_shape shape_of(order_flags flags, bool has_values) noexcept;

}  // namespace spansort::device::host
