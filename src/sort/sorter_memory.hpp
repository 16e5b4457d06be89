// SPDX-License-Identifier: Apache-2.0
// This header says what a sorter takes of host memory, before it is asked to sort: for those who have to plan under a
// ceiling.
#pragma once

#include <cstdint>

#include "base/memory_formula.hpp"
#include "spansort/options.hpp"

namespace spansort::sorting {

/// An upper bound on what a sorter with these options holds after sorts of keys of `key_bytes` with values of
/// `value_bytes` that travel as they are (0, 4, 8 or 16). Throws invalid_argument as the sorter.
[[nodiscard]] base::memory_formula sorter_memory(const sort_options& options, std::uint64_t key_bytes,
                                                 std::uint64_t value_bytes);

/// Returns how many of `threads` threads a sort below a ceiling should have: as many as take at most half of it for
/// their scratch, and one at least. The scratch of all processors of a large machine would not fit below a low one.
[[nodiscard]] unsigned threads_below(std::uint64_t ceiling_bytes, unsigned threads);

/// Returns the options without ceiling, report and progress, for orders of elements, whose memory is counted by those
/// that use them.
[[nodiscard]] sort_options for_counted_sorts(const sort_options& options);

}  // namespace spansort::sorting
