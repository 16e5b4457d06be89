// SPDX-License-Identifier: Apache-2.0
// A worker is a process that runs every w-th case and tells, by lines on its standard output, what the supervisor
// counts:
//   begin 17                 the case that runs from now on
//   end sort:0 top_k:0       how its jobs ended
//   failed 17 what is wrong
//   held A B C D E F G H     allocations, descriptors, threads and bytes, after the first quarter and at the end
#pragma once

#include <cstdint>

#include "soak/case.hpp"
#include "soak/resources.hpp"

namespace spansort::soak {

struct worker_share {
  std::uint64_t first = 0;
  std::uint64_t step = 1;
  std::uint64_t end = 0;  ///< no case from this on
  double seconds = 0;     ///< no case begins later
};

/// The bounds within which a worker comes back to what it held after the first quarter of its time or cases, and so
/// many cases at least: memory and threads that the library keeps for the next call (sort.hpp), and kernels that a
/// GPU's runtime loads when they are first used, are taken late by some of them.
inline constexpr std::uint64_t num_first_cases = 300;
inline constexpr resources allowed_growth{
    .allocations = 2000, .descriptors = 0, .threads = 24, .resident_bytes = std::int64_t{192} << 20};

/// Each processor adds to what a worker may hold: oneTBB keeps memory for tasks in each of its threads.
inline constexpr std::int64_t allocations_of_a_thread = 64;

/// Runs the share. Returns the exit status of the process.
int run_worker(const settings& s, const worker_share& share);

}  // namespace spansort::soak
