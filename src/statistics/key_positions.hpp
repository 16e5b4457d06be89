// SPDX-License-Identifier: Apache-2.0
// This header finds where the first keys in order are.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "keys/codec.hpp"
#include "spansort/types.hpp"
#include "statistics/ordered_keys.hpp"
#include "statistics/select.hpp"

namespace spansort::statistics {

/// Positions of the first `count` keys in the order of `codec`, in that order; of keys that compare equal, the earlier
/// first. `last`: the ties of the last of them. Two parallel reads of the keys.
[[nodiscard]] std::vector<std::uint64_t> find_positions(const_key_span keys, const keys::key_codec& codec,
                                                        const tie_bounds& last, std::uint64_t count);

/// Finds them among keys that are on devices, positions counted over all chunks one after the other. The devices count
/// in blocks of 2^20 keys; a block in which there are positions is copied to host memory and searched there.
[[nodiscard]] std::vector<std::uint64_t> find_positions(std::span<const key_chunk> chunks, const keys::key_codec& codec,
                                                        const tie_bounds& last, std::uint64_t count);

}  // namespace spansort::statistics
