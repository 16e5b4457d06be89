// SPDX-License-Identifier: Apache-2.0
// Checks of arguments. All throw invalid_argument saying what was expected and what was found.
#pragma once

#include <cstdint>

#include "algorithms/run_context.hpp"
#include "base/test_hooks.hpp"
#include "spansort/options.hpp"
#include "spansort/report.hpp"
#include "spansort/types.hpp"

namespace spansort::sorting {

/// Not null unless empty, aligned to a key, count times size addressable.
void check_keys(const const_key_span& keys);
/// Values are at least one byte each, not null unless empty, and do not overlap the keys.
void check_values(const const_key_span& keys, const void* values, std::uint64_t value_bytes);
/// Index width 4 or 8, wide enough for the count.
void check_index_width(std::uint64_t num_keys, std::uint64_t index_bytes);
/// Index width 4 or 8, wide enough for the count, no overlap with the keys.
void check_indices(const const_key_span& keys, const void* indices, std::uint64_t index_bytes);
/// Checks all of that but the width: indices within segments need be no wider than the longest segment asks for.
void check_index_memory(const const_key_span& keys, const void* indices, std::uint64_t index_bytes);
/// Radix widths from 1 to `most_radix_bits`, or 0 for those that the devices advise; fractions from 0 to 1.
void check_tuning(const tuning_options& tuning, unsigned most_radix_bits = 12);
void check_hooks(const base::test_hooks& hooks);

/// A rank's line in the report.
[[nodiscard]] rank_report describe(const device::device& device, unsigned rank, std::uint64_t num_ranks,
                                   const algorithms::problem& problem);

}  // namespace spansort::sorting
