// SPDX-License-Identifier: Apache-2.0
// A loop on all threads that is never left half done.
#pragma once

#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/parallel_for.h>

#include <cstdint>

namespace spansort::base {

/// Calls body(begin, end) for blocks of [0, count), in any order; what it throws surfaces.
template <class Body>
void for_blocks(std::uint64_t count, const Body& body) {
  constexpr std::uint64_t grain = std::uint64_t{1} << 14;
  if (count <= grain) {
    if (count != 0) body(std::uint64_t{0}, count);
    return;
  }
  // A group of its own: when the caller's tasks are cancelled, this work must not be left half done.
  tbb::task_group_context own(tbb::task_group_context::isolated);
  tbb::parallel_for(
      tbb::blocked_range<std::uint64_t>(0, count, grain),
      [&](const tbb::blocked_range<std::uint64_t>& block) { body(block.begin(), block.end()); }, own);
}

}  // namespace spansort::base
