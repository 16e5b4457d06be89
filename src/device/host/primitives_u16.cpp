// SPDX-License-Identifier: Apache-2.0
// The host primitives for keys of 16 bits.
#include "device/host/primitives-inl.hpp"

namespace spansort::device::host {

template void run_histogram<std::uint16_t>(const execution&, const histogram_request&);
template void run_count_intervals<std::uint16_t>(const execution&, const interval_request&);
template void run_partition<std::uint16_t>(const execution&, const partition_request&, const records*);
template local_sort_outcome run_local_sort<std::uint16_t>(const execution&, const local_sort_request&);
template void run_swap_mirrored<std::uint16_t>(const execution&, const swap_mirrored_request&);
template void run_merge<std::uint16_t>(const execution&, const merge_request&);

}  // namespace spansort::device::host
