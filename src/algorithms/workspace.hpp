// SPDX-License-Identifier: Apache-2.0
// Memory that drivers work in: named before they start, taken all at once, kept from call to call.
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/rank.hpp"
#include "device/device.hpp"

namespace spansort::algorithms {

/// A driver's wish: room for `num_records` records in slot `slot` of a rank.
struct slot_request {
  unsigned rank = 0;
  unsigned slot = 0;
  std::uint64_t num_records = 0;
};

/// Bytes of a slot: keys, then values on a page of their own, so that partition can stream both.
[[nodiscard]] std::uint64_t slot_bytes(const device::record_shape& shape, std::uint64_t num_records) noexcept;

/// The records of a reserved slot.
[[nodiscard]] device::records slot_records(const rank& of, unsigned slot, const device::record_shape& shape,
                                           std::uint64_t num_records);

/// Bytes that the ranks hold: slots and scratch.
[[nodiscard]] std::uint64_t held_bytes(const std::vector<rank>& ranks) noexcept;

/// Gives back all that the ranks hold.
void release(std::vector<rank>& ranks);

/// Grows slots to what is wished for and prepares the devices. `other_bytes` of host memory will be taken for the same sort. Throws out_of_memory
/// before anything is taken when `limit_bytes` (0: none) or what is available is less than all of it together; the
/// bytes needed that the exception names are enough.
void reserve_workspace(std::vector<rank>& ranks, const device::record_shape& shape,
                       const std::vector<slot_request>& wishes, std::uint64_t other_bytes, std::uint64_t limit_bytes);

}  // namespace spansort::algorithms
