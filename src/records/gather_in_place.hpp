// SPDX-License-Identifier: Apache-2.0
// Brings records into a known order where they lie, in stripes of columns so that a copy of all of them is not needed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace spansort::records {

/// Bytes of each record that are gathered together.
[[nodiscard]] std::uint64_t stripe_bytes(std::uint64_t record_bytes) noexcept;

/// Moves record indices[i] to place i, for a permutation `indices`. `room` has stripe_bytes() for each record. Nothing
/// fails. Records that are in order already are not written.
void gather_in_place(std::byte* records, std::uint64_t record_bytes, std::span<const std::uint32_t> indices,
                     std::byte* room);
void gather_in_place(std::byte* records, std::uint64_t record_bytes, std::span<const std::uint64_t> indices,
                     std::byte* room);

}  // namespace spansort::records
