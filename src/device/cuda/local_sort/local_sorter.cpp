// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/local_sort/local_sorter.hpp"

#include <algorithm>
#include <new>
#include <optional>
#include <utility>

#include "base/assert.hpp"
#include "base/said_of_done.hpp"
#include "device/cuda/local_sort/even_segments.hpp"
#include "device/cuda/local_sort/in_order.hpp"

namespace spansort::device::cuda {

namespace {

sort_cost cost_of(const local_sort_algorithm& algorithm, const segment_sort& segment) {
  if (algorithm.cost != nullptr) return algorithm.cost(segment);
  const unsigned passes = num_local_sort_passes(segment.bits);
  const record_shape& shape = segment.shape;
  // Passes that end in the other array are followed by a copy.
  const std::uint64_t moves = passes + ((passes % 2 != 0) == segment.result_in_alternate ? 0 : 1);
  return {passes, segment.count * (shape.codec.width_bytes() + 2 * moves * shape.bytes())};
}

}  // namespace

local_sorter::local_sorter(std::string preferred)
    : preferred_(std::move(preferred)), forked_(make_cuda_event(cudaEventDisableTiming)), looks_(make_urgent_stream()) {
  open_places_.reserve(places{}.size());
  for (lane& l : lanes_) l = {make_stream(), make_cuda_event(cudaEventDisableTiming)};
  end_ = {make_stream(), make_cuda_event(cudaEventDisableTiming)};
}

const local_sort_algorithm& local_sorter::choose(const launch_site& site, const local_sort_request& request) const {
  if (!request.algorithm.empty()) {
    const local_sort_algorithm* const found = find_local_sort(request.algorithm);
    SPANSORT_ASSERT(found != nullptr);
    return *found;
  }
  std::uint64_t num_keys = 0;
  for (const sort_segment& s : request.segments) num_keys += s.count;
  return choose_local_sort(preferred_, request.shape, num_keys, site.code, request.segments.size() == 1);
}

local_sorter::enqueued local_sorter::enqueue(const launch_site& site, const local_sort_request& request,
                                             void* scratch) {
  const local_sort_algorithm& algorithm = choose(site, request);
  const bool is_named = !request.algorithm.empty();
  void* const algorithm_scratch =
      is_named ? request.scratch : static_cast<char*>(scratch) + kernel_workspace::size_bytes;
  const places touched = places_of(request);
  if (touch_open(touched)) join(site.stream);
  // A segment alone goes on beside those of other requests, too, but where the order of all is looked at first.
  const bool has_company = request.segments.size() > 1 || (!request.looks_for_order && !is_named);
  const bool takes_lanes = has_company && algorithm.runs_side_by_side;
  const bool is_only_segment = request.segments.size() == 1;
  const order_check check =
      request.looks_for_order && !takes_lanes && !is_named ? order_check::made : order_check::skipped;
  enqueued all;
  if (!takes_lanes || !have_room()) join(site.stream);
  if (takes_lanes) {
    fork(site.stream);
    open_places_.insert(open_places_.end(), touched.begin(), touched.end());
  }
  std::optional<even_segments> evenness;
  if (takes_lanes && !is_named) {
    // Records that go by buckets find memory for that where the passes before had their states.
    const std::uint64_t num_tiles = site_of_lane(site, 0, scratch).memory.tile_capacity;
    evenness.emplace(site_of_looks(site), request, preferred_, num_tiles * kernel_workspace::tile_state_bytes);
  }
  for (std::size_t number = 0; number < request.segments.size(); ++number) {
    const sort_segment& s = request.segments[number];
    if (s.count == 0) continue;
    if (is_in_order(s)) {
      all.bytes_moved += move_in_order(site, request, s);
      continue;
    }
    const launch_site own_site = takes_lanes ? site_of_lane(site, next_lane_++ % num_lanes, scratch) : site;
    segment_sort segment{.shape = request.shape,
                         .source = advance(request.shape, request.source, s.begin),
                         .alternate = advance(request.shape, request.alternate, s.begin),
                         .count = s.count,
                         .bits = s.bits,
                         .result_in_alternate = request.result_in_alternate,
                         .digit_bits = request.digit_bits,
                         .lists = &lists_,
                         .bucket_memory = is_named ? nullptr : request.scratch,
                         .wished_way = preferred_};
    // A segment may have few records although all together have many.
    const local_sort_algorithm& own = is_named || is_only_segment
                                          ? algorithm
                                          : choose_local_sort(preferred_, request.shape, s.count, site.code, false);
    if (evenness && &own == &onesweep_sort) {
      segment.buckets = evenness->way_of(number);
      if (segment.buckets != bucket_way{}) segment.bucket_memory = own_site.memory.tile_states;
    }
    const enqueued_sort sorting = enqueue_segment(own, own_site, segment, algorithm_scratch, check);
    segment.buckets = sorting.buckets;
    base::say_of_done([&] {
      const sort_cost cost = cost_of(sorting.algorithm, segment);
      all.num_passes = std::max(all.num_passes, cost.num_passes);
      all.bytes_moved += cost.bytes_moved;
    });
  }
  const bool looks = check == order_check::made && (algorithm.obeys_decisions || algorithm.sees_order);
  all.has_order_seen = looks && is_only_segment && all.num_passes != 0;
  return all;
}

// Values lie as the keys do, so the keys' places tell whether two requests meet.
local_sorter::places local_sorter::places_of(const local_sort_request& request) {
  std::uint64_t begin = ~std::uint64_t{0};
  std::uint64_t end = 0;
  for (const sort_segment& s : request.segments) {
    begin = std::min(begin, s.begin);
    end = std::max(end, s.begin + s.count);
  }
  if (begin >= end) return {};
  const std::uint64_t width = request.shape.codec.width_bytes();
  const auto place_in = [&](const void* keys) {
    const auto* const first = static_cast<const char*>(keys);
    return first == nullptr ? place{} : place{first + begin * width, first + end * width};
  };
  return {place_in(request.source.keys), place_in(request.alternate.keys)};
}

bool local_sorter::touch_open(const places& some) const {
  return std::ranges::any_of(some, [&](const place& one) {
    return std::ranges::any_of(open_places_, [&](const place& o) { return one.begin < o.end && o.begin < one.end; });
  });
}

bool local_sorter::have_room() {
  const std::size_t needed = open_places_.size() + places{}.size();
  if (needed <= open_places_.capacity()) return true;
  try {
    open_places_.reserve(2 * needed);
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

launch_site local_sorter::site_of_lane(const launch_site& site, std::size_t number, void* scratch) const {
  const std::uint64_t part_bytes =
      kernel_workspace::size_bytes / num_lanes / lane_alignment_bytes * lane_alignment_bytes;
  launch_site own = site;
  own.stream = lanes_[number].stream.get();
  own.memory = kernel_workspace::in(static_cast<char*>(scratch) + number * part_bytes, part_bytes);
  return own;
}

launch_site local_sorter::site_of_looks(const launch_site& site) const {
  launch_site own = site;
  own.stream = looks_.get();
  own.memory = {};
  return own;
}

void local_sorter::fork(cudaStream_t stream) {
  is_forked_ = true;
  is_open_ = true;
  SPANSORT_CUDA(cudaEventRecord(forked_.get(), stream));
  SPANSORT_CUDA(cudaStreamWaitEvent(looks_.get(), forked_.get(), 0));
  for (const lane& l : lanes_) SPANSORT_CUDA(cudaStreamWaitEvent(l.stream.get(), forked_.get(), 0));
}

void local_sorter::put_behind_lanes(cudaStream_t stream) const {
  for (const lane& l : lanes_) {
    SPANSORT_CUDA(cudaEventRecord(l.done.get(), l.stream.get()));
    SPANSORT_CUDA(cudaStreamWaitEvent(stream, l.done.get(), 0));
  }
}

void local_sorter::join(cudaStream_t stream) {
  if (!is_open_) return;
  put_behind_lanes(stream);
  is_open_ = false;
  open_places_.clear();
}

cudaStream_t local_sorter::end_of_work(cudaStream_t stream) {
  if (!is_open_) return stream;
  SPANSORT_CUDA(cudaEventRecord(end_.done.get(), stream));
  SPANSORT_CUDA(cudaStreamWaitEvent(end_.stream.get(), end_.done.get(), 0));
  put_behind_lanes(end_.stream.get());
  return end_.stream.get();
}

void local_sorter::wait() noexcept {
  if (!is_forked_) return;
  is_forked_ = false;
  is_open_ = false;
  open_places_.clear();
  forget_failure(cudaStreamSynchronize(end_.stream.get()));
  for (const lane& l : lanes_) forget_failure(cudaStreamSynchronize(l.stream.get()));
  forget_failure(cudaStreamSynchronize(looks_.get()));
}

}  // namespace spansort::device::cuda
