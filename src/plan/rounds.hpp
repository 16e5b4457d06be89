// SPDX-License-Identifier: Apache-2.0
// The exchange of a plan in rounds: in each of them every rank gets the next few of its buckets, and sorts these while
// the next ones travel. No device, no clock, no I/O.
//
// A partitioned chunk has as many places as its rank's part of the sorted whole, more or less. Chunks are laid out by
// rounds when they are partitioned first, so that the places of the first rounds come free first, one after the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "plan/planner.hpp"

namespace spansort::plan {

/// How finely a plan is cut into rounds. A rank gets at least this in a round, while it gets any.
struct round_sizes {
  std::uint64_t least_keys = 0;  ///< 0: there is one round
  unsigned least_sorts = 1;      ///< local sorts
};

/// Where the buckets of the first pass lie in each chunk.
struct chunk_layout {
  /// Neighbouring buckets that stay neighbours.
  struct stretch {
    std::uint64_t offset = 0;  ///< in bucket order, as the plan counts
    std::uint64_t place = 0;   ///< in the chunk
    std::uint64_t count = 0;
  };
  std::vector<std::vector<stretch>> stretches;  ///< by rank, in bucket order; none: the chunk is in bucket order

  /// Returns where the record that has `offset` in a rank's chunk in bucket order lies.
  [[nodiscard]] std::uint64_t place_of(unsigned rank, std::uint64_t offset) const;
  /// Returns how many records from there on are neighbours.
  [[nodiscard]] std::uint64_t run_of(unsigned rank, std::uint64_t offset) const;
};

/// Lays chunks out by the rounds in which the buckets of the first pass will be sent, as far as that pass can tell.
[[nodiscard]] chunk_layout lay_out(const parameters& params, std::span<const bucket> buckets, const round_sizes& sizes);

/// Neighbouring local sorts of a rank whose keys it gets in one round.
struct round_group {
  std::uint64_t offset = 0;    ///< in the rank's part of the sorted whole
  std::uint64_t count = 0;     ///< of keys
  std::size_t first_sort = 0;  ///< index in sort_plan::local_sorts
  std::size_t num_sorts = 0;
};

/// Neighbouring records of a partitioned chunk that are sent in one round.
struct chunk_extent {
  unsigned round = 0;
  std::uint64_t place = 0;
  std::uint64_t count = 0;
};

struct round_plan {
  std::vector<std::vector<round_group>> groups;  ///< by rank and round; some ranks may have fewer than there are rounds
  std::vector<std::vector<transfer>> transfers;  ///< by round; source offsets are places, each is of one local sort
  std::vector<transfer> copied_transfers;        ///< sent with the first round; source offsets are places
  std::vector<std::vector<chunk_extent>> extents;  ///< by rank

  [[nodiscard]] unsigned num_rounds() const noexcept { return static_cast<unsigned>(transfers.size()); }
  /// Returns the number of rounds after which nothing unsent lies in `count` places of a rank's chunk from `place` on.
  [[nodiscard]] unsigned rounds_until_free(unsigned rank, std::uint64_t place, std::uint64_t count) const;
};

/// Cuts a finished plan into rounds.
[[nodiscard]] round_plan plan_rounds(const sort_plan& plan, const chunk_layout& layout, const round_sizes& sizes);

/// This says that a rank's keys may, from some round on, arrive in the places that its own chunk has left, in the same
/// array: as many places lower than in the rank's part of the sorted whole as that has keys of earlier rounds. Those
/// are sorted with the same places, which are free when the first of these rounds begins.
struct freed_places {
  unsigned first_round = 0;
  std::uint64_t lower_by = 0;
  std::uint64_t lower_by_before = 0;  ///< in rounds before the first, at most

  /// Returns how much lower the places of a group are than the group lies in its rank's part.
  [[nodiscard]] std::uint64_t lower(unsigned round, const round_group& group) const noexcept;
};

/// Returns the freed places of a rank; none where, in some round, keys would have to wait for a later one.
[[nodiscard]] std::optional<freed_places> find_freed_places(const round_plan& rounds, unsigned rank);

}  // namespace spansort::plan
