// SPDX-License-Identifier: Apache-2.0
// This header says how many threads a call may use: the processors of this process, or fewer where the caller says so.
#pragma once

#include <oneapi/tbb/task_arena.h>

#include "base/control_groups.hpp"

namespace spansort::base {

/// Processors that this process may use: those that it may be scheduled on, cut to the quotas of its control groups,
/// rounded up. The quotas are read once.
[[nodiscard]] unsigned num_processors();

/// Returns `num_schedulable` cut to the quotas that the files which `read` reads tell of; at least 1. What cannot be
/// understood is no quota.
[[nodiscard]] unsigned processors_within_quota(unsigned num_schedulable, const file_reader& read);

/// More are refused.
inline constexpr unsigned most_threads = 1024;

/// Returns how many threads an option `threads` stands for: num_processors() where it is 0, and where it is more, since
/// oneTBB starts no more than that. Throws invalid_argument above 1024.
[[nodiscard]] unsigned resolve_threads(unsigned threads);

/// Returns f(), called by the calling thread; the parallel loops in it take resolve_threads(threads) threads at most.
template <class F>
auto with_threads(unsigned threads, const F& f) -> decltype(f()) {
  const int most = static_cast<int>(resolve_threads(threads));
  if (most >= tbb::this_task_arena::max_concurrency()) return f();
  tbb::task_arena arena(most);
  return arena.execute(f);
}

}  // namespace spansort::base
