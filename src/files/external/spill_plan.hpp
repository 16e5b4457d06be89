// SPDX-License-Identifier: Apache-2.0
// A spill plan says how a sort larger than memory will go, decided before it starts: chunks, blocks, runs, passes,
// bytes. Arithmetic alone.
#pragma once

#include <cstdint>
#include <optional>

#include "files/external/element_order.hpp"

namespace spansort::external {

/// What is given. Knobs are for tests; 0 leaves the choice to the plan.
struct spill_demand {
  std::uint64_t memory_bytes = 0;  ///< for everything that the sort takes
  std::optional<std::uint64_t> num_elements = {};
  std::uint64_t element_bytes = 0;
  std::uint64_t key_bytes = 0;
  base::memory_formula sort_memory = {};
  std::uint64_t chunk_elements = 0;
  std::uint64_t block_elements = 0;
  std::uint64_t fan_in = 0;
};

struct spill_plan {
  std::uint64_t chunk_elements = 0;  ///< that a buffer holds: a run's length at first, most of a range
  std::uint64_t block_elements = 0;
  std::uint64_t block_bytes = 0;  ///< on disk; the end of a block may be unused
  std::uint64_t batch_bytes = 0;  ///< read or written by one call, whole blocks
  std::uint64_t fan_in = 0;       ///< runs that are merged at a time
  // Where the number of elements is known; else 0.
  std::uint64_t num_runs = 0;       ///< 0: everything is in memory at once, nothing is spilled
  unsigned num_merges = 0;          ///< times that the elements are read back
  std::uint64_t spilled_bytes = 0;  ///< written to temporary files, all passes together
  std::uint64_t memory_bytes = 0;   ///< taken at most
};

/// Bytes that blocks and calls on files opened for direct access are multiples of.
inline constexpr std::uint64_t direct_alignment_bytes = 4096;
/// Threads that read, and as many that write, temporary files.
inline constexpr unsigned num_io_threads = 3;

/// Longest chunk that a sort takes when it has all of `memory_bytes`: whether an input need be spilled at all.
[[nodiscard]] std::uint64_t elements_that_fit(const spill_demand& demand);

/// One merge is enough up to chunk_elements * fan_in elements, about (S / 5)^2 / (2 * block) for keys in S bytes of
/// memory. Throws out_of_memory naming the least that would do.
[[nodiscard]] spill_plan make_spill_plan(const spill_demand& demand);

}  // namespace spansort::external
