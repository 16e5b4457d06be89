// SPDX-License-Identifier: Apache-2.0
// This header says how large the parts are in which data larger than the devices is sorted.
#pragma once

#include <cstdint>

#include "algorithms/run_context.hpp"
#include "base/memory_formula.hpp"

namespace spansort::algorithms {

/// Slots of every device: one receives, the sort takes two, one leaves.
inline constexpr unsigned num_pipeline_slots = 4;

/// Records of a part where device memory is no object.
[[nodiscard]] std::uint64_t wanted_part_records(std::uint64_t num_ranks, const sort_settings& options,
                                                const problem& sort);

/// Returns the largest part, up to `wanted_records`, whose num_pipeline_slots slots every device has room for. Throws
/// out_of_memory where that is too small to be worth it.
[[nodiscard]] std::uint64_t fitting_part_records(const std::vector<rank>& ranks, const sort_settings& options,
                                                 const problem& sort, std::uint64_t wanted_records);

/// Returns what each of the first `num_slots` slots of every device holds, in records.
[[nodiscard]] std::uint64_t least_slot_records(const std::vector<rank>& ranks, const device::record_shape& shape,
                                               unsigned num_slots);

/// Parts of equal size (± 1) and of at most `most_records`, the same number for each rank where there are more parts
/// than ranks.
[[nodiscard]] std::uint64_t num_parts(std::uint64_t num_records, std::uint64_t most_records, std::uint64_t num_ranks);

/// The slots of every device, as many records as it has room for, and a copy of the data beside the caller's arrays.
[[nodiscard]] std::vector<slot_request> out_of_core_workspace(const std::vector<rank>& ranks,
                                                              const sort_settings& options, const problem& sort);

/// Returns what the slots take on host devices: four parts on each device, of 1/32 of the data, or of 64 MiB where that
/// is more.
[[nodiscard]] base::memory_formula out_of_core_host_memory(std::uint64_t num_devices, std::uint64_t record_bytes);

}  // namespace spansort::algorithms
