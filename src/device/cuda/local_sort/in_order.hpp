// SPDX-License-Identifier: Apache-2.0
// Segments that need no sort: those that a kernel finds in order or in opposite order while the host goes on, and those
// that the host knows to be in order.
#pragma once

#include "device/cuda/local_sort/local_sort.hpp"

namespace spansort::device::cuda {

/// Compares neighbours and decides on the device what is done with the segment. Returns where the decision will be.
[[nodiscard]] const order_action* look_for_order(const launch_site& site, const segment_sort& segment);

/// Copies the segment's records from `from` to `to` where the segment's decision is `wanted`, or where there is none.
void copy_where(order_action wanted, const launch_site& site, const segment_sort& segment, records to, records from);

/// Does what the decision says of a segment that is not sorted by passes: its records are copied or reversed to
/// `result`, or its positions written there.
void use_order(const launch_site& site, const segment_sort& segment, records result);

/// Returns whether the host knows that the segment is in order: it has one key, or no bits that could differ.
[[nodiscard]] bool is_in_order(const sort_segment& segment) noexcept;

/// Copies a segment that is in order to where its result is asked for. Returns the bytes that are moved.
std::uint64_t move_in_order(const launch_site& site, const local_sort_request& request, const sort_segment& segment);

}  // namespace spansort::device::cuda
