// SPDX-License-Identifier: Apache-2.0
// The host primitives for keys of 8 bits.
#include "device/host/primitives-inl.hpp"

namespace spansort::device::host {

input_shape shape_of(order_flags flags, bool has_values) noexcept {
  if (flags.ascending) return flags.descending ? input_shape::constant : input_shape::sorted;
  return (has_values ? flags.strictly_descending : flags.descending) ? input_shape::reversed : input_shape::general;
}

template void run_histogram<std::uint8_t>(const execution&, const histogram_request&);
template void run_count_intervals<std::uint8_t>(const execution&, const interval_request&);
template void run_partition<std::uint8_t>(const execution&, const partition_request&, const records*);
template local_sort_outcome run_local_sort<std::uint8_t>(const execution&, const local_sort_request&);
template void run_swap_mirrored<std::uint8_t>(const execution&, const swap_mirrored_request&);
template void run_merge<std::uint8_t>(const execution&, const merge_request&);

}  // namespace spansort::device::host
