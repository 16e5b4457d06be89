// SPDX-License-Identifier: Apache-2.0
// The table of local sorts, and the one function that chooses among them.
#include <algorithm>
#include <array>
#include <string>

#include "base/assert.hpp"
#include "device/cuda/cuda_error.hpp"
#include "device/cuda/kernels/positions.hpp"
#include "device/cuda/local_sort/even_keys.hpp"
#include "device/cuda/local_sort/in_order.hpp"
#include "device/cuda/local_sort/local_sort.hpp"

namespace spansort::device::cuda {

extern const local_sort_algorithm narrow_counting_sort, wide_counting_sort, block_sort, grid_sort, cub_sort,
    published_onesweep, onesweep_counting, lsd_reduce_then_scan, satish_radix, satish_merge, msd_hybrid;

namespace {

/// The order is that of preference where nobody asks for one by name. A new algorithm is a file and its name in these
/// lines.
constexpr std::array<const local_sort_algorithm*, 6> table{
    &narrow_counting_sort, &wide_counting_sort, &block_sort, &grid_sort, &onesweep_sort, &cub_sort};

/// Those that callers may ask for by name. They sort every shape.
constexpr std::array published{&published_onesweep, &lsd_reduce_then_scan, &satish_radix, &satish_merge, &msd_hybrid};

/// An algorithm that is for other devices.
struct refusal {
  std::string_view name;
  std::string_view reason;
};
constexpr std::array refusals{
    refusal{"paradis", "it is a sort of few threads that each take a stripe of every bucket; the CPU has it"}};

}  // namespace

const local_sort_algorithm& choose_local_sort(std::string_view preferred, const record_shape& shape,
                                              std::uint64_t num_keys, compute_capability code, bool is_only_segment) {
  for (const local_sort_algorithm* const candidate : table) {
    if (!candidate->can_sort(shape, num_keys, code)) continue;
    if (candidate->name == preferred) return *candidate;
    if (!preferred.empty() || (!is_only_segment && !candidate->runs_side_by_side)) continue;
    if (candidate->pays == nullptr || candidate->pays(shape, num_keys)) return *candidate;
  }
  return onesweep_sort;
}

small_sort_request small_request_of(const segment_sort& segment) {
  return {.shape = segment.shape,
          .sides = {segment.source, segment.alternate},
          .num_keys = static_cast<std::uint32_t>(segment.count),
          .bits = segment.bits,
          .result_side = segment.result_in_alternate ? 1U : 0U,
          .argsort_keys = segment.argsort_keys};
}

std::uint64_t local_sort_scratch_bytes(std::string_view preferred) {
  std::uint64_t most_bytes = 0;
  for (const local_sort_algorithm* const candidate : table) {
    // Without a wish all are candidates up to the one that sorts whatever there is.
    if (preferred.empty() || candidate->name == preferred) most_bytes = std::max(most_bytes, candidate->scratch_bytes);
    if (preferred.empty() && candidate == &onesweep_sort) break;
  }
  return most_bytes;
}

const local_sort_algorithm* find_local_sort(std::string_view name) {
  const auto found = std::ranges::find(published, name, &local_sort_algorithm::name);
  return found == published.end() ? nullptr : *found;
}

local_sort_offer offer(std::string_view name, const record_shape& shape, std::uint64_t num_keys) {
  if (const local_sort_algorithm* const found = find_local_sort(name)) {
    return {.scratch_bytes = found->scratch_bytes_for == nullptr ? 0 : found->scratch_bytes_for(shape, num_keys),
            .most_digit_bits = found->most_digit_bits};
  }
  const auto refused = std::ranges::find(refusals, name, &refusal::name);
  return {.why_not = refused == refusals.end() ? "GPUs have no local sort of that name" : std::string(refused->reason)};
}

namespace {

/// Makes records of an argsort's keys and positions, for algorithms that sort records alone.
void write_argsort_records(const launch_site& site, segment_sort& segment) {
  if (segment.argsort_keys == nullptr) return;
  const std::uint64_t keys_bytes = segment.count * segment.shape.codec.width_bytes();
  SPANSORT_CUDA(
      cudaMemcpyAsync(segment.source.keys, segment.argsort_keys, keys_bytes, cudaMemcpyDeviceToDevice, site.stream));
  launch_write_positions(site, segment.source.values, segment.shape.value_bytes, segment.count);
  segment.argsort_keys = nullptr;
}

}  // namespace

enqueued_sort enqueue_segment(const local_sort_algorithm& algorithm, const launch_site& site, segment_sort segment,
                              void* scratch, order_check check) {
  const records result = segment.result_in_alternate ? segment.alternate : segment.source;
  const bool looks = check == order_check::made && algorithm.obeys_decisions;
  if (looks) segment.decision = look_for_order(site, segment);
  const found_way found = looks && segment.bucket_memory != nullptr ? way_of(site, segment) : found_way{};
  const segment_way way = found.way;
  if (looks) segment.buckets = found.buckets;
  segment.spread = found.spread;
  const bool has_spread = segment.spread.table != nullptr;
  const bool goes_by_levels =
      way == segment_way::buckets && !has_spread && has_few_levels(segment.shape, segment.count);
  if (goes_by_levels || !algorithm.makes_positions) write_argsort_records(site, segment);
  if (way == segment_way::buckets) {
    segment.decision = nullptr;
    const records end =
        goes_by_levels ? msd_hybrid.enqueue(site, segment, segment.bucket_memory) : enqueue_by_buckets(site, segment);
    SPANSORT_ASSERT(end.keys == result.keys);
    return {msd_hybrid, goes_by_levels ? bucket_way{} : segment.buckets};
  }
  if (way == segment_way::counts) {
    segment.decision = nullptr;
    const records end = onesweep_counting.enqueue(site, segment, segment.bucket_memory);
    SPANSORT_ASSERT(end.keys == result.keys);
    return {onesweep_counting};
  }
  if (way == segment_way::passes_or_buckets || way == segment_way::passes_or_counts) {
    segment_sort by_passes = segment;
    by_passes.decision = site.memory.ways;
    by_passes.spread = {};
    const records end = algorithm.enqueue(site, by_passes, scratch);
    if (end.keys != result.keys) copy_where(order_action::passes, site, by_passes, result, end);
    segment_sort other = segment;
    other.decision = site.memory.ways + 1;
    const records other_end = way == segment_way::passes_or_buckets
                                  ? enqueue_by_buckets(site, other)
                                  : onesweep_counting.enqueue(site, other, segment.bucket_memory);
    SPANSORT_ASSERT(other_end.keys == result.keys);
    use_order(site, segment, result);
    return {algorithm};
  }
  if (check == order_check::skipped && segment.buckets.digits != bucket_digits{}) {
    const bool is_counted = segment.shape.codec.width_bytes() == 4;
    const records end = is_counted ? enqueue_by_counts(site, segment) : enqueue_by_buckets(site, segment);
    SPANSORT_ASSERT(end.keys == result.keys);
    return {is_counted ? onesweep_counting : msd_hybrid, segment.buckets};
  }
  if (way == segment_way::passes) {
    const records end = algorithm.enqueue(site, segment, scratch);
    if (end.keys != result.keys) copy_where(order_action::passes, site, segment, result, end);
  }
  if (looks) use_order(site, segment, result);
  return {algorithm};
}

}  // namespace spansort::device::cuda
