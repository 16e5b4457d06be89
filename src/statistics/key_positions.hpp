// SPDX-License-Identifier: Apache-2.0
// Where in host memory the first keys in order are.
#pragma once

#include <cstdint>
#include <vector>

#include "keys/codec.hpp"
#include "spansort/types.hpp"
#include "statistics/ordered_keys.hpp"

namespace spansort::statistics {

/// Positions of the first `count` keys in the order of `codec`, in that order; of keys that compare equal, the earlier
/// first. `last`: the ties of the last of them. Two parallel reads of the keys.
[[nodiscard]] std::vector<std::uint64_t> find_positions(const_key_span keys, const keys::key_codec& codec,
                                                        const tie_bounds& last, std::uint64_t count);

}  // namespace spansort::statistics
