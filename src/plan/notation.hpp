// SPDX-License-Identifier: Apache-2.0
// This header says how plans name things in text: buckets by their digits as in the paper's figures, numbers with
// separators.
#pragma once

#include <cstdint>
#include <string>

#include "keys/digit.hpp"
#include "plan/planner.hpp"

namespace spansort::plan {

/// Digits from the most significant, hexadecimal: "[0:1]"; the root is "[]". A last digit may be narrower.
[[nodiscard]] std::string bucket_name(keys::prefix prefix, unsigned radix_bits);

/// Most significant first as in the paper: "[32..24)".
[[nodiscard]] std::string bits_name(keys::bit_range bits);

/// 1234567 as "1,234,567".
[[nodiscard]] std::string grouped(std::uint64_t number);

/// Returns the number in at most six characters: "123", "12.3k", "456M".
[[nodiscard]] std::string abbreviated(std::uint64_t number);

/// "1 key", "2,000 keys".
[[nodiscard]] std::string counted(std::uint64_t number, const std::string& noun);

}  // namespace spansort::plan
