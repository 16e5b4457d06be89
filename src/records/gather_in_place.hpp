// SPDX-License-Identifier: Apache-2.0
// Brings records into a known order where they lie, in stripes of columns so that a copy of all of them is not needed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/call_watch.hpp"

namespace spansort::records {

/// Bytes of each record that are gathered together.
[[nodiscard]] std::uint64_t stripe_bytes(std::uint64_t record_bytes) noexcept;

/// Moves record indices[i] to place i, for a permutation `indices`. `room` has stripe_bytes() for each record. `watch`
/// asks between blocks, and nothing else throws; where it does, the records are lost. Records that are in order already
/// are not written.
void gather_in_place(std::byte* records, std::uint64_t record_bytes, std::span<const std::uint32_t> indices,
                     std::byte* room, const base::call_watch& watch);
void gather_in_place(std::byte* records, std::uint64_t record_bytes, std::span<const std::uint64_t> indices,
                     std::byte* room, const base::call_watch& watch);

}  // namespace spansort::records
