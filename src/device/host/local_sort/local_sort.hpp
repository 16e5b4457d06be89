// SPDX-License-Identifier: Apache-2.0
// The local sorts of host devices by name. Each is one file of this folder, which defines its entry; table.cpp lists
// the entries. All are stable, sort by a range of the bits of the encoded keys, and stop when they are asked to as long
// as they have not overwritten the source.
#pragma once

#include <cstdint>
#include <string_view>

#include "device/host/primitives.hpp"

namespace spansort::device::host {

struct local_sort_algorithm {
  std::string_view name;         ///< by which it is asked for; "": the device's own choice
  std::string_view label;        ///< of its work in reports
  bool needs_alternate = true;   ///< else it sorts in place
  unsigned most_digit_bits = 0;  ///< as in local_sort_offer
  /// Returns the scratch that a sort of `num_keys` records takes in all segments together. Null: none.
  std::uint64_t (*scratch_bytes)(const record_shape& shape, std::uint64_t num_keys) = nullptr;
  local_sort_outcome (*run)(const execution& with, const local_sort_request& request) = nullptr;
};

/// Returns the algorithm called `name`, which has been offered.
[[nodiscard]] const local_sort_algorithm& find_local_sort(std::string_view name);

/// Returns what host devices say of the algorithm called `name`.
[[nodiscard]] local_sort_offer offer(std::string_view name, const record_shape& shape, std::uint64_t num_keys);

}  // namespace spansort::device::host
