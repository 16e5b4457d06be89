// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/local_sort/local_sorter.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"
#include "device/cuda/local_sort/in_order.hpp"

namespace spansort::device::cuda {

namespace {

sort_cost cost_of(const local_sort_algorithm& algorithm, const segment_sort& segment) {
  if (algorithm.cost != nullptr) return algorithm.cost(segment);
  const unsigned passes = num_local_sort_passes(segment.bits);
  const record_shape& shape = segment.shape;
  return {passes, segment.count * (shape.codec.width_bytes() + std::uint64_t{2} * passes * shape.bytes())};
}

}  // namespace

local_sorter::local_sorter(std::string preferred)
    : preferred_(std::move(preferred)), forked_(make_cuda_event(cudaEventDisableTiming)) {
  for (lane& l : lanes_) l = {make_stream(), make_cuda_event(cudaEventDisableTiming)};
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
  const bool takes_lanes = request.segments.size() > 1 && algorithm.runs_side_by_side;
  const bool is_only_segment = request.segments.size() == 1;
  const order_check check =
      request.looks_for_order && !takes_lanes && !is_named ? order_check::made : order_check::skipped;
  enqueued all;
  if (takes_lanes) fork(site.stream);
  std::size_t next_lane = 0;
  for (const sort_segment& s : request.segments) {
    if (s.count == 0) continue;
    if (is_in_order(s)) {
      all.bytes_moved += move_in_order(site, request, s);
      continue;
    }
    const launch_site own_site = takes_lanes ? site_of_lane(site, next_lane++ % num_lanes, scratch) : site;
    const segment_sort segment{.shape = request.shape,
                               .source = advance(request.shape, request.source, s.begin),
                               .alternate = advance(request.shape, request.alternate, s.begin),
                               .count = s.count,
                               .bits = s.bits,
                               .result_in_alternate = request.result_in_alternate,
                               .digit_bits = request.digit_bits,
                               .bucket_memory = is_named ? nullptr : request.scratch,
                               .bucket_way = preferred_};
    // A segment may have few records although all together have many.
    const local_sort_algorithm& own = is_named || is_only_segment
                                          ? algorithm
                                          : choose_local_sort(preferred_, request.shape, s.count, site.code, false);
    const local_sort_algorithm& sorting = enqueue_segment(own, own_site, segment, algorithm_scratch, check);
    const sort_cost cost = cost_of(sorting, segment);
    all.num_passes = std::max(all.num_passes, cost.num_passes);
    all.bytes_moved += cost.bytes_moved;
  }
  if (takes_lanes) join(site.stream);
  const bool looks = check == order_check::made && (algorithm.obeys_decisions || algorithm.sees_order);
  all.has_order_seen = looks && is_only_segment && all.num_passes != 0;
  return all;
}

launch_site local_sorter::site_of_lane(const launch_site& site, std::size_t number, void* scratch) const {
  const std::uint64_t part_bytes =
      kernel_workspace::size_bytes / num_lanes / lane_alignment_bytes * lane_alignment_bytes;
  launch_site own = site;
  own.stream = lanes_[number].stream.get();
  own.memory = kernel_workspace::in(static_cast<char*>(scratch) + number * part_bytes, part_bytes);
  return own;
}

void local_sorter::fork(cudaStream_t stream) {
  is_forked_ = true;
  SPANSORT_CUDA(cudaEventRecord(forked_.get(), stream));
  for (const lane& l : lanes_) SPANSORT_CUDA(cudaStreamWaitEvent(l.stream.get(), forked_.get(), 0));
}

void local_sorter::join(cudaStream_t stream) const {
  for (const lane& l : lanes_) {
    SPANSORT_CUDA(cudaEventRecord(l.done.get(), l.stream.get()));
    SPANSORT_CUDA(cudaStreamWaitEvent(stream, l.done.get(), 0));
  }
}

void local_sorter::wait() noexcept {
  if (!is_forked_) return;
  is_forked_ = false;
  for (const lane& l : lanes_) static_cast<void>(cudaStreamSynchronize(l.stream.get()));
}

}  // namespace spansort::device::cuda
