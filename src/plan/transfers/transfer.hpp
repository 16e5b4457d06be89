// SPDX-License-Identifier: Apache-2.0
// Transfers are what an exchange executes: the part of a plan that the room transport may see.
#pragma once

#include <cstdint>

namespace spansort::plan {

/// `count` records at `source_offset` of the source rank's partitioned chunk go to `destination_offset` of the
/// destination rank's buffer. Offsets count records.
struct transfer {
  unsigned source_rank = 0;
  std::uint64_t source_offset = 0;
  unsigned destination_rank = 0;
  std::uint64_t destination_offset = 0;
  std::uint64_t count = 0;

  /// Nothing moves.
  [[nodiscard]] bool is_identity() const noexcept {
    return source_rank == destination_rank && source_offset == destination_offset;
  }
  friend bool operator==(const transfer&, const transfer&) = default;
};

}  // namespace spansort::plan
