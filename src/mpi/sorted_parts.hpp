// SPDX-License-Identifier: Apache-2.0
// A sorted whole that lies with the node ranks in parts: whether it is right, and the first of equal keys alone. All
// functions are collective and block. Node ranks may have no keys.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "mpi/transport/exchange_bytes.hpp"
#include "mpi/transport/node_group.hpp"
#include "spansort/check.hpp"
#include "spansort/types.hpp"

namespace spansort::mpi {

// What is wrong with this node rank's part, half a sentence; "" where nothing is. Others may have found something.

/// Looks for keys out of order, and for others than those whose checksum `before` is this node rank's.
[[nodiscard]] std::string find_fault(transport::communicator& group, const const_key_span& sorted_keys, bool descending,
                                     const multiset_checksum& before);

/// Returns whether the parts of all node ranks, one after the other, are in order of value: the same on all.
[[nodiscard]] bool are_in_order(transport::communicator& group, const const_key_span& keys, bool descending);

/// Looks for keys that are not after their predecessor, equal ones too.
[[nodiscard]] std::string find_duplicate(transport::communicator& group, const const_key_span& sorted_keys,
                                         bool descending);

/// Returns "" where `indices`, as many as keys, are this node rank's part of the stable order of all keys: `keys` is
/// its share of the unsorted ones, of which those at the indices are fetched. Memory: order_check_bytes(type) a key.
[[nodiscard]] std::string find_fault_of_order(transport::node_group& group, const transport::exchange_limits& limits,
                                              const const_key_span& keys, std::span<const std::uint64_t> indices,
                                              bool descending);
[[nodiscard]] inline std::uint64_t order_check_bytes(key_type type) noexcept {
  // fetch_values(): questions, places, what others ask for, keys given and got; and the keys where they are wanted.
  return 3 * sizeof(std::uint64_t) + 3 * std::uint64_t{size_bytes(type)};
}

/// Keeps the first of equal keys over all node ranks, and the indices of those, if there are any. Returns how many are
/// left on this one.
std::uint64_t keep_unique(transport::communicator& group, const key_span& sorted_keys, bool descending,
                          std::uint64_t* indices = nullptr);

}  // namespace spansort::mpi
