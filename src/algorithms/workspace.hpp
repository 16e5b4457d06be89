// SPDX-License-Identifier: Apache-2.0
// Memory that drivers work in: named before they start, taken all at once, kept from call to call.
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/rank.hpp"
#include "device/device.hpp"

namespace spansort::algorithms {

/// Drivers use slots below this one and leave it to those who call them.
inline constexpr unsigned callers_slot = 3;

/// A driver's wish: room for `num_records` records in slot `slot` of a rank.
struct slot_request {
  unsigned rank = 0;
  unsigned slot = 0;
  std::uint64_t num_records = 0;
  bool on_host = false;  ///< a slot in host memory, as device::allocate_host() gives it; else the device's
};

/// Bytes of a slot: keys, then values on a page of their own, so that partition can stream both.
[[nodiscard]] std::uint64_t slot_bytes(const device::record_shape& shape, std::uint64_t num_records) noexcept;

/// The most records whose slot has at most `size_bytes`.
[[nodiscard]] std::uint64_t records_of_slot(const device::record_shape& shape, std::uint64_t size_bytes) noexcept;

/// The records of a reserved slot.
[[nodiscard]] device::records slot_records(const rank& of, unsigned slot, const device::record_shape& shape,
                                           std::uint64_t num_records);
[[nodiscard]] device::records host_slot_records(const rank& of, unsigned slot, const device::record_shape& shape,
                                                std::uint64_t num_records);

/// Bytes that the ranks hold: slots and scratch.
[[nodiscard]] std::uint64_t held_bytes(const std::vector<rank>& ranks) noexcept;
/// Bytes that one rank holds on its device.
[[nodiscard]] std::uint64_t held_device_bytes(const rank& r) noexcept;

/// Gives back all that the ranks hold.
void release(std::vector<rank>& ranks);

/// Returns how often the list names a rank's device: a limit on the device is theirs together.
[[nodiscard]] std::uint64_t num_entries(const std::vector<rank>& ranks, const rank& r);

/// Returns what a rank's device offers all of its workspace: `limit_bytes` where that is not 0, else what could be
/// allocated now and what is held. Where a list repeats a device, each gets its share.
[[nodiscard]] std::uint64_t device_room_bytes(const std::vector<rank>& ranks, const rank& r, std::uint64_t limit_bytes);

/// Returns whether the wishes and scratch keep within `limit_bytes` (0: none) on each device and, on devices with
/// memory of their own, within what is available. Asks them only where much is missing.
[[nodiscard]] bool fits_devices(const std::vector<rank>& ranks, const device::record_shape& shape,
                                const std::vector<slot_request>& wishes, std::uint64_t limit_bytes);

/// Grows slots to what is wished for and prepares the devices. `other_bytes` of host memory will be taken for the same
/// sort. Throws out_of_memory before anything is taken when `limit_bytes` (0: none), `device_limit_bytes` (of each
/// device; 0: none) or what is available is less than needed; the bytes needed that the exception names are enough.
void reserve_workspace(std::vector<rank>& ranks, const device::record_shape& shape,
                       const std::vector<slot_request>& wishes, std::uint64_t other_bytes, std::uint64_t limit_bytes,
                       std::uint64_t device_limit_bytes = 0);

}  // namespace spansort::algorithms
