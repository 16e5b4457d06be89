// SPDX-License-Identifier: Apache-2.0
// A loop on all threads that is never left half done.
#pragma once

#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>

#include "base/math.hpp"

namespace spansort::base {

inline constexpr std::uint64_t most_block_elements = std::uint64_t{1} << 14;

/// Returns how many elements of so many bytes make a block: of wide ones fewer, so that all threads find some.
[[nodiscard]] constexpr std::uint64_t block_elements(std::uint64_t element_bytes) noexcept {
  constexpr std::uint64_t block_bytes = std::uint64_t{256} << 10;
  return std::clamp<std::uint64_t>(block_bytes / std::max<std::uint64_t>(element_bytes, 1), 1, most_block_elements);
}

/// Calls body(begin, end) for blocks of [0, count), once for each, in any order; what it throws surfaces, and nothing
/// else: blocks that no task can be made for are the calling thread's. A block has up to `grain` elements.
template <class Body>
void for_blocks(std::uint64_t count, const Body& body, std::uint64_t grain = most_block_elements) {
  if (count <= grain) {
    if (count != 0) body(std::uint64_t{0}, count);
    return;
  }
  std::atomic<std::uint64_t> next{0};
  std::atomic<bool> has_failed{false};
  std::exception_ptr failure;
  const auto take_blocks = [&]() noexcept {
    try {
      for (std::uint64_t begin = next.fetch_add(grain); begin < count; begin = next.fetch_add(grain)) {
        body(begin, std::min(count, begin + grain));
      }
    } catch (...) {
      if (!has_failed.exchange(true)) failure = std::current_exception();
      next = count;
    }
  };
  try {
    // A group of its own: when the caller's tasks are cancelled, this work must not be left half done.
    tbb::task_group_context own(tbb::task_group_context::isolated);
    const auto num_threads = static_cast<std::uint64_t>(tbb::this_task_arena::max_concurrency());
    tbb::parallel_for(
        std::uint64_t{0}, std::min(num_threads, ceil_div(count, grain)), [&](std::uint64_t) { take_blocks(); },
        tbb::simple_partitioner(), own);
  } catch (...) {
    // The blocks throw nothing here: oneTBB had no memory, or no thread.
  }
  take_blocks();
  if (failure != nullptr) std::rethrow_exception(failure);
}

}  // namespace spansort::base
