// SPDX-License-Identifier: Apache-2.0
// The exchange of a plan in rounds: in each of them every rank gets the next few of its buckets, and sorts these while
// the next ones travel. No device, no clock, no I/O.
//
// A partitioned chunk has as many places as its rank's part of the sorted whole, more or less. Where the plan has one
// pass, chunks are laid out by rounds, so that the places of the first rounds come free first, one after the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "plan/planner.hpp"

namespace spansort::plan {

/// How finely a plan is cut into rounds. A rank gets at least this in a round, while it gets any.
struct round_sizes {
  std::uint64_t least_keys = 0;  ///< 0: there is one round
  unsigned least_sorts = 1;      ///< local sorts
};

/// Neighbouring local sorts of a rank whose keys it gets in one round.
struct round_group {
  std::uint64_t offset = 0;    ///< in the rank's part of the sorted whole
  std::uint64_t count = 0;     ///< of keys
  std::size_t first_sort = 0;  ///< index in sort_plan::local_sorts
  std::size_t num_sorts = 0;
};

/// Neighbouring keys of a partitioned chunk that one rank gets in one round.
struct chunk_extent {
  unsigned round = 0;
  std::uint64_t offset = 0;  ///< in bucket order, as the plan counts
  std::uint64_t place = 0;   ///< where it lies in the chunk
  std::uint64_t count = 0;
};

struct round_plan {
  std::vector<std::vector<round_group>> groups;  ///< by rank and round; some ranks may have fewer than there are rounds
  std::vector<std::vector<transfer>> transfers;  ///< by round; source offsets are places, each is of one local sort
  std::vector<std::vector<chunk_extent>> extents;  ///< by rank, in bucket order; none is empty

  [[nodiscard]] unsigned num_rounds() const noexcept { return static_cast<unsigned>(transfers.size()); }
  /// Returns where the record that has `offset` in a rank's chunk in bucket order is to lie.
  [[nodiscard]] std::uint64_t place_of(unsigned rank, std::uint64_t offset) const;
  /// Returns the number of rounds after which nothing unsent lies in `count` places of a rank's chunk from `place` on.
  [[nodiscard]] unsigned rounds_until_free(unsigned rank, std::uint64_t place, std::uint64_t count) const;
};

/// Cuts a finished plan into rounds.
[[nodiscard]] round_plan plan_rounds(const sort_plan& plan, const round_sizes& sizes);

/// From some round on a rank's keys may arrive in the places that its own chunk has left, in the same array: as many
/// places lower than in the rank's part of the sorted whole as that has keys of earlier rounds.
struct freed_places {
  unsigned first_round = 0;
  std::uint64_t lower_by = 0;
};

/// Returns the freed places of a rank; none where, in some round, keys would have to wait for a later one.
[[nodiscard]] std::optional<freed_places> find_freed_places(const round_plan& rounds, unsigned rank);

}  // namespace spansort::plan
