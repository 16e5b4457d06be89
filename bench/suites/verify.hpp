// SPDX-License-Identifier: Apache-2.0
// These functions check what a contender leaves, array by array. They share no code with the sorts.
#pragma once

#include <cstdint>
#include <spansort/types.hpp>
#include <vector>

namespace bench {

struct sorted_arrays {
  spansort::key_type type = spansort::key_type::u32;
  const void* keys = nullptr;
  const void* values = nullptr;  ///< places in the input's array; null: none
  std::uint64_t value_bytes = 0;
  std::uint64_t num_keys = 0;  ///< of one array
  std::uint64_t num_arrays = 1;
};

/// Returns whether each array's keys are in order and, where asked for, equal keys in that of their values.
[[nodiscard]] bool are_in_order(const sorted_arrays& of, bool stable);

/// Returns of each array a number that is the same for any order of its keys.
[[nodiscard]] std::vector<std::uint64_t> key_sums(const sorted_arrays& of);

/// Writes to `to` the keys of `key_bytes` each in `from` that the indices of each array name. Returns false where an
/// index is too large.
[[nodiscard]] bool take_keys(const void* from, const std::uint64_t* indices, void* to, std::uint64_t key_bytes,
                             std::uint64_t num_keys, std::uint64_t num_arrays);

}  // namespace bench
