// SPDX-License-Identifier: Apache-2.0
// A stage clock keeps when a stage of a sort was at work, and on how many elements: for reports and traces.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace spansort::external {

/// A stretch of work without a break. Times are the steady clock's.
struct stage_interval {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::uint64_t num_elements = 0;
};

class stage_clock {
 public:
  /// Calls f(), which returns how many elements it worked on, and keeps when it ran. Memory for that is taken before:
  /// f() may be what puts the output in its place.
  template <class F>
  void run(const F& f) {
    const std::size_t at = intervals_.size();
    intervals_.push_back({.begin_ns = now_ns()});
    try {
      const std::uint64_t num_elements = f();
      intervals_[at].end_ns = now_ns();
      intervals_[at].num_elements = num_elements;
    } catch (...) {
      intervals_.resize(at);
      throw;
    }
  }
  /// Takes over what another clock of the same stage has kept, but for its first interval.
  void add_behind_first(const stage_clock& other) {
    if (!other.intervals_.empty())
      intervals_.insert(intervals_.end(), other.intervals_.begin() + 1, other.intervals_.end());
  }

  [[nodiscard]] const std::vector<stage_interval>& intervals() const noexcept { return intervals_; }
  [[nodiscard]] std::uint64_t num_elements() const noexcept {
    std::uint64_t sum = 0;
    for (const stage_interval& i : intervals_) sum += i.num_elements;
    return sum;
  }

 private:
  static std::int64_t now_ns() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }

  std::vector<stage_interval> intervals_;
};

}  // namespace spansort::external
