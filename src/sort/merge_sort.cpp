// SPDX-License-Identifier: Apache-2.0
// The merge tree of a sort by a comparison (Satish, Harris, Garland, IPDPS 2009, section IV), of elements that only the
// caller's code can compare.
//
// Halves are sorted side by side into the one array and merged into the other. The tree is walked depth first, so that
// what has just been sorted is merged while it is in a cache; the paper's levels would read all memory once each.
#include "spansort/merge_sort.hpp"

#include <fmt/format.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/parallel_invoke.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

#include "base/available_memory.hpp"
#include "base/byte_buffer.hpp"
#include "base/threads.hpp"
#include "spansort/errors.hpp"

namespace spansort {
namespace {

constexpr std::uint64_t tile_bytes = std::uint64_t{1} << 15;      // with its scratch in a core's own cache
constexpr std::uint64_t splitter_bytes = std::uint64_t{1} << 16;  // between splitters
constexpr std::uint64_t parallel_merge_bytes = 4 * splitter_bytes;

constexpr std::uint64_t least_alignment = 64;  // of a cache line
constexpr std::uint64_t worth_asking_bytes = std::uint64_t{64} << 20;

/// Returns the memory that a workspace may take. The system is not asked for every small sort.
std::uint64_t available_bytes(std::uint64_t wanted_bytes, std::uint64_t limit_bytes) {
  if (limit_bytes != 0) return limit_bytes;
  return wanted_bytes < worth_asking_bytes ? worth_asking_bytes : base::available_memory_bytes();
}

/// Thrown where another task has failed; what that one threw is what surfaces.
struct stopped {};

/// Where a merge may be cut: so many elements of each run go before.
struct merge_cut {
  std::uint64_t left = 0;
  std::uint64_t right = 0;
};

/// Elements with the order that the caller gave them.
class ordered_elements {
 public:
  ordered_elements(std::byte* elements, std::byte* scratch, const detail::merge_sort_steps& steps)
      : elements_(elements), scratch_(scratch), steps_(steps) {}

  /// Sorts elements [begin, begin + count), which end in the scratch or where they are. When it throws, they are all
  /// where they were, in any order.
  void sort(std::uint64_t begin, std::uint64_t count, bool into_scratch);
  /// Sorts all. Where there is no memory for tasks, the calling thread starts anew without any: in what they have left
  /// equal elements are in order. What the comparison throws surfaces.
  void sort_in_any_case(std::uint64_t count) {
    try {
      sort(0, count, false);
    } catch (const std::bad_alloc&) {
      if (has_callers_failure_) throw;
      is_alone_ = true;
      sort(0, count, false);
    }
  }

 private:
  [[nodiscard]] std::uint64_t bytes(std::uint64_t count) const { return count * steps_.element_bytes; }
  [[nodiscard]] std::byte* at(bool in_scratch, std::uint64_t i) const {
    return (in_scratch ? scratch_ : elements_) + bytes(i);
  }
  void copy_back(std::uint64_t begin, std::uint64_t count) const {
    std::memcpy(at(false, begin), at(true, begin), bytes(count));
  }
  void merge(std::uint64_t begin, std::uint64_t num_left, std::uint64_t num_right, bool into_scratch);
  [[nodiscard]] std::vector<merge_cut> cuts(const std::byte* left, std::uint64_t num_left, const std::byte* right,
                                            std::uint64_t num_right) const;
  /// Calls f(), which compares.
  template <class F>
  auto compare(const F& f) const {
    try {
      return f();
    } catch (...) {
      has_callers_failure_ = true;
      throw;
    }
  }
  [[nodiscard]] bool precedes(const std::byte* run_a, std::uint64_t a, const std::byte* run_b, std::uint64_t b) const {
    return compare([&] { return steps_.precedes(steps_.context, run_a + bytes(a), run_b + bytes(b)); });
  }
  template <class IsBefore>
  [[nodiscard]] static std::uint64_t count_before(std::uint64_t begin, std::uint64_t end, const IsBefore& is_before);

  std::byte* elements_;
  std::byte* scratch_;
  const detail::merge_sort_steps& steps_;
  bool is_alone_ = false;  ///< no tasks, no memory
  mutable std::atomic<bool> has_callers_failure_{false};
  // This work must not be left half done when the caller's own tasks are cancelled.
  tbb::task_group_context own_{tbb::task_group_context::isolated};
};

void ordered_elements::sort(std::uint64_t begin, std::uint64_t count, bool into_scratch) {
  if (bytes(count) <= tile_bytes || count < 2) {
    compare([&] { steps_.sort_tile(steps_.context, at(false, begin), at(true, begin), count, into_scratch); });
    return;
  }
  const std::uint64_t num_left = count / 2;
  bool left_is_done = false;
  bool right_is_done = false;
  try {
    const auto sort_left = [&] {
      sort(begin, num_left, !into_scratch);
      left_is_done = true;
    };
    const auto sort_right = [&] {
      sort(begin + num_left, count - num_left, !into_scratch);
      right_is_done = true;
    };
    if (is_alone_) {
      sort_left();
      sort_right();
    } else {
      tbb::parallel_invoke(sort_left, sort_right, own_);
    }
    if (!left_is_done || !right_is_done) throw stopped();
    merge(begin, num_left, count - num_left, into_scratch);
  } catch (...) {
    if (!into_scratch && left_is_done) copy_back(begin, num_left);
    if (!into_scratch && right_is_done) copy_back(begin + num_left, count - num_left);
    throw;
  }
}

void ordered_elements::merge(std::uint64_t begin, std::uint64_t num_left, std::uint64_t num_right, bool into_scratch) {
  const std::byte* const left = at(!into_scratch, begin);
  const std::byte* const right = at(!into_scratch, begin + num_left);
  std::byte* const to = at(into_scratch, begin);
  const auto merge_tile = [&](const merge_cut& from, const merge_cut& end) {
    compare([&] {
      steps_.merge(steps_.context, left + bytes(from.left), end.left - from.left, right + bytes(from.right),
                   end.right - from.right, to + bytes(from.left + from.right));
    });
  };
  if (is_alone_ || bytes(num_left + num_right) < parallel_merge_bytes || tbb::this_task_arena::max_concurrency() == 1 ||
      !precedes(right, 0, left, num_left - 1)) {
    return merge_tile({}, {num_left, num_right});
  }
  const std::vector<merge_cut> all = cuts(left, num_left, right, num_right);
  std::atomic<std::uint64_t> num_done{0};
  tbb::parallel_for(
      std::uint64_t{1}, std::uint64_t{all.size()},
      [&](std::uint64_t i) {
        merge_tile(all[i - 1], all[i]);
        num_done.fetch_add(1, std::memory_order_relaxed);
      },
      own_);
  if (num_done.load() + 1 != all.size()) throw stopped();
}

/// Counts the first elements of [begin, end) for which is_before(i).
template <class IsBefore>
std::uint64_t ordered_elements::count_before(std::uint64_t begin, std::uint64_t end, const IsBefore& is_before) {
  while (begin != end) {
    const std::uint64_t middle = begin + (end - begin) / 2;
    if (is_before(middle)) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  return begin;
}

/// Every t-th element of both runs is a splitter. The rank of a splitter in its own run is its position. Its rank in
/// the other one is found by binary search between the splitters of that run which bracket it, and they are known from
/// the merged sequence of the splitters. No cut goes back behind the one before, so that the tiles make up both runs
/// whatever the comparison says.
std::vector<merge_cut> ordered_elements::cuts(const std::byte* left, std::uint64_t num_left, const std::byte* right,
                                              std::uint64_t num_right) const {
  const std::uint64_t t = std::max<std::uint64_t>(1, splitter_bytes / steps_.element_bytes);
  std::vector<merge_cut> all{{0, 0}};
  const auto add = [&](merge_cut cut) {
    cut.left = std::max(cut.left, all.back().left);
    cut.right = std::max(cut.right, all.back().right);
    if (cut.left != all.back().left || cut.right != all.back().right) all.push_back(cut);
  };
  merge_cut next{t, t};  // splitters to come
  while (next.left < num_left || next.right < num_right) {
    const bool has_both = next.left < num_left && next.right < num_right;
    const bool takes_right = has_both ? precedes(right, next.right, left, next.left) : next.left >= num_left;
    if (takes_right) {
      const auto is_before = [&](std::uint64_t i) { return !precedes(right, next.right, left, i); };
      add({count_before(next.left - t, std::min(next.left, num_left), is_before), next.right});
      next.right += t;
    } else {
      const auto is_before = [&](std::uint64_t i) { return precedes(right, i, left, next.left); };
      add({next.left, count_before(next.right - t, std::min(next.right, num_right), is_before)});
      next.left += t;
    }
  }
  add({num_left, num_right});
  return all;
}

}  // namespace

void detail::merge_sort(void* elements, std::uint64_t count, const merge_sort_steps& steps,
                        const merge_sort_options& options) {
  static_cast<void>(base::resolve_threads(options.threads));
  const std::uint64_t size_bytes = count * steps.element_bytes;
  const std::uint64_t alignment = std::max(least_alignment, steps.alignment);
  const std::uint64_t available = available_bytes(size_bytes, options.memory_limit_bytes);
  if (size_bytes > available) {
    throw out_of_memory(fmt::format("sort by a comparison of {} elements needs {} bytes of workspace; there are {}",
                                    count, size_bytes, available),
                        size_bytes, available);
  }
  base::byte_buffer memory(size_bytes + alignment);
  void* scratch = memory.data();
  std::size_t room_bytes = memory.size();
  std::align(alignment, size_bytes, scratch, room_bytes);
  ordered_elements all(static_cast<std::byte*>(elements), static_cast<std::byte*>(scratch), steps);
  base::with_threads(options.threads, [&] { all.sort_in_any_case(count); });
}

}  // namespace spansort
