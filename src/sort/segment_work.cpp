// SPDX-License-Identifier: Apache-2.0
#include "sort/segment_work.hpp"

#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/enumerable_thread_specific.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/parallel_invoke.h>
#include <oneapi/tbb/partitioner.h>

#include <algorithm>
#include <optional>

#include "base/test_hooks.hpp"
#include "base/threads.hpp"
#include "device/host/small_pairs.hpp"
#include "device/host/small_sort.hpp"
#include "sort/sorter_memory.hpp"
#include "spansort/sort.hpp"

namespace spansort::sorting {
namespace {

/// The work of a task, in keys. A segment costs as much as some keys before its first key is looked at.
constexpr std::uint64_t task_work = std::uint64_t{1} << 15;
constexpr std::uint64_t segment_work = 8;

/// Neighbouring segments that are cut, as oneTBB's ranges are, until a part has at most task_work.
class work_range {
 public:
  work_range(const device::segment_bounds& bounds, device::segment_range range) : bounds_(&bounds), range_(range) {}
  work_range(work_range& left, tbb::split) : bounds_(left.bounds_), range_(left.range_) {
    left.range_.last = range_.first = left.middle();
  }

  [[nodiscard]] bool empty() const { return range_.first == range_.last; }
  [[nodiscard]] bool is_divisible() const {
    return range_.last - range_.first > 1 && work_before(range_.last) - work_before(range_.first) > task_work;
  }
  [[nodiscard]] device::segment_range range() const { return range_; }

 private:
  [[nodiscard]] std::uint64_t work_before(std::uint64_t boundary) const {
    return bounds_->at(boundary) + boundary * segment_work;
  }
  /// Returns a boundary inside the range that has about half of the work on each side.
  [[nodiscard]] std::uint64_t middle() const {
    const std::uint64_t begin = work_before(range_.first);
    const std::uint64_t wanted = begin + (work_before(range_.last) - begin) / 2;
    std::uint64_t low = range_.first + 1;
    std::uint64_t high = range_.last - 1;
    while (low < high) {
      const std::uint64_t between = low + (high - low) / 2;
      if (work_before(between) < wanted) {
        low = between + 1;
      } else {
        high = between;
      }
    }
    return low;
  }

  const device::segment_bounds* bounds_;
  device::segment_range range_;
};

void sort_small_ones(const segments_call& call, device::segment_range range, std::uint64_t most_small) {
  using namespace device::host;
  const auto& [codec, value_bytes] = call.shape;
  if (call.is_order) {
    argsort_small_segments(codec, call.data.keys, call.data.values, value_bytes, call.bounds, range, most_small);
  } else if (value_bytes != 0) {
    sort_small_pairs_segments(codec, call.data.keys, call.data.values, value_bytes, call.bounds, range, most_small);
  } else {
    sort_small_segments(codec, call.data.keys, call.bounds, range, most_small);
  }
}

void sort_large_one(sorter& by, const segments_call& call, const large_segment& segment) {
  const device::records at = device::advance(call.shape, call.data, segment.begin);
  const key_span keys(call.shape.codec.type, at.keys, segment.num_keys);
  const direction d = keys::direction_of(call.shape.codec.descending);
  if (call.is_order) return by.argsort(keys, at.values, call.shape.value_bytes, d);
  if (call.shape.value_bytes != 0) return by.sort_pairs(keys, at.values, call.shape.value_bytes, d);
  by.sort(keys, d);
}

/// Options of the sorts of large segments by so many threads; their memory is counted by segments_memory_bytes().
sort_options options_of_large(unsigned threads) { return {.devices = "cpu", .threads = threads}; }

/// Moves segments that are too large for one thread's share to the end; returns how many are not. A thread that begins
/// such a segment last would keep the others waiting.
std::size_t put_shared_last(std::vector<large_segment>& large, std::uint64_t num_keys, unsigned threads) {
  const std::uint64_t most = threads == 1 ? ~std::uint64_t{0} : num_keys / (std::uint64_t{4} * threads);
  const auto shared =
      std::stable_partition(large.begin(), large.end(), [&](const large_segment& s) { return s.num_keys <= most; });
  return static_cast<std::size_t>(shared - large.begin());
}

void sort_each_by_one_thread(const segments_call& call, const std::vector<large_segment>& large, std::size_t count) {
  tbb::enumerable_thread_specific<std::optional<sorter>> sorters;
  tbb::task_group_context own(tbb::task_group_context::isolated);
  tbb::parallel_for(
      tbb::blocked_range<std::size_t>(0, count, 1),
      [&](const tbb::blocked_range<std::size_t>& range) {
        std::optional<sorter>& mine = sorters.local();
        if (!mine) mine.emplace(options_of_large(1));
        for (std::size_t i = range.begin(); i != range.end(); ++i) sort_large_one(*mine, call, large[i]);
      },
      tbb::simple_partitioner(), own);
}

void sort_in_tasks(const segments_call& call, std::uint64_t most_small) {
  const device::segment_range all{0, call.bounds.num_segments()};
  const work_range range(call.bounds, all);
  if (!range.is_divisible()) return sort_small_ones(call, all, most_small);
  tbb::task_group_context own(tbb::task_group_context::isolated);
  tbb::parallel_for(
      range, [&](const work_range& part) { sort_small_ones(call, part.range(), most_small); },
      tbb::simple_partitioner(), own);
}

}  // namespace

std::uint64_t most_small_keys(const device::record_shape& shape, bool is_order) {
  if (const std::uint64_t forced = base::current_test_hooks().host_inline_keys; forced != 0) return forced;
  if (is_order || shape.value_bytes != 0) return device::host::most_small_pairs;
  return device::host::most_small_bytes / shape.codec.width_bytes();
}

void sort_segments_on_cpu(const segments_call& call, const std::vector<large_segment>& large, unsigned threads) {
  const std::uint64_t most_small = most_small_keys(call.shape, call.is_order);
  if (large.empty()) return sort_in_tasks(call, most_small);
  std::vector<large_segment> in_turn = large;
  const std::size_t num_own = put_shared_last(in_turn, call.num_keys(), base::resolve_threads(threads));
  if (num_own != in_turn.size()) {
    sorter by_all(options_of_large(threads));
    for (std::size_t i = num_own; i < in_turn.size(); ++i) sort_large_one(by_all, call, in_turn[i]);
  }
  tbb::task_group_context own(tbb::task_group_context::isolated);
  tbb::parallel_invoke([&] { sort_each_by_one_thread(call, in_turn, num_own); },
                       [&] { sort_in_tasks(call, most_small); }, own);
}

std::uint64_t segments_memory_bytes(const segments_call& call, const std::vector<large_segment>& large,
                                    unsigned asked_threads) {
  const unsigned threads = base::resolve_threads(asked_threads);
  const std::uint64_t small_bytes = threads * device::host::most_small_scratch_bytes;
  if (large.empty()) return small_bytes;
  std::vector<large_segment> in_turn = large;
  const std::size_t num_own = put_shared_last(in_turn, call.num_keys(), threads);
  const std::uint64_t key_bytes = call.shape.codec.width_bytes();
  const auto bytes_of = [&](std::size_t first, std::size_t last, unsigned of_threads) {
    if (first == last) return std::uint64_t{0};
    std::uint64_t most_keys = 0;
    for (std::size_t i = first; i < last; ++i) most_keys = std::max(most_keys, in_turn[i].num_keys);
    const base::memory_formula memory = sorter_memory(options_of_large(of_threads), key_bytes, call.shape.value_bytes);
    return memory.fixed_bytes + most_keys * (memory.element_bytes + (call.is_order ? key_bytes : 0));
  };
  return small_bytes + threads * bytes_of(0, num_own, 1) + bytes_of(num_own, in_turn.size(), threads);
}

}  // namespace spansort::sorting
