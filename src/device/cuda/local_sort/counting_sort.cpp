// SPDX-License-Identifier: Apache-2.0
// Keys of one or two bytes without values are counted, and as many of each value written (kernels/counting_sort.cu).
#include "device/cuda/kernels/counting_sort.hpp"
#include "device/cuda/local_sort/local_sort.hpp"
#include "device/cuda/tuning/counting_sort_policy.hpp"

namespace spansort::device::cuda {
namespace {

constexpr std::uint64_t most_counted_keys = (std::uint64_t{1} << 32) - 1;

template <class K>
bool can_sort(const record_shape& shape, std::uint64_t num_keys, compute_capability) {
  return shape.codec.width_bytes() == sizeof(K) && shape.value_bytes == 0 && shape.codec.is_bijective() &&
         num_keys <= most_counted_keys;
}

bool pays(const record_shape& shape, std::uint64_t num_keys) {
  const unsigned width = shape.codec.width_bytes();
  return num_keys >= least_counted_keys(width) || (width == 1 && num_keys <= most_block_counting_keys);
}

template <class K>
records enqueue_with(const launch_site& site, const segment_sort& segment, std::uint32_t* counts) {
  // Keys that agree in the bits of the sort keep their order.
  if (segment.bits.begin != 0) return onesweep_sort.enqueue(site, segment, nullptr);
  const records result = segment.result_in_alternate ? segment.alternate : segment.source;
  launch_counting_sort<K>(site, segment.shape.codec.of<K>(),
                          {.keys = static_cast<const K*>(segment.source.keys),
                           .to = static_cast<K*>(result.keys),
                           .num_keys = static_cast<std::uint32_t>(segment.count),
                           .decision = segment.decision,
                           .counts = counts});
  return result;
}

records enqueue_narrow(const launch_site& site, const segment_sort& segment, void*) {
  static_assert(kernel_workspace::sort_counts_bytes >= num_values(1) * sizeof(std::uint32_t));
  return enqueue_with<std::uint8_t>(site, segment, reinterpret_cast<std::uint32_t*>(site.memory.sort_counts));
}

records enqueue_wide(const launch_site& site, const segment_sort& segment, void* scratch) {
  return enqueue_with<std::uint16_t>(site, segment, static_cast<std::uint32_t*>(scratch));
}

/// Returns what a GPU of 9.0 reads and writes. Others read keys of two bytes more often.
sort_cost cost(const segment_sort& segment) {
  const unsigned width = segment.shape.codec.width_bytes();
  return {1, (num_value_ranges(kernel_family::hopper, width) + 1) * segment.count * width};
}

}  // namespace

extern const local_sort_algorithm narrow_counting_sort, wide_counting_sort;

constexpr local_sort_algorithm narrow_counting_sort{.name = "counting_sort",
                                                    .label = "local sort",
                                                    .obeys_decisions = true,
                                                    .runs_side_by_side = true,
                                                    .can_sort = can_sort<std::uint8_t>,
                                                    .pays = pays,
                                                    .enqueue = enqueue_narrow,
                                                    .cost = cost};

constexpr local_sort_algorithm wide_counting_sort{.name = "counting_sort",
                                                  .label = "local sort",
                                                  .scratch_bytes = num_values(2) * sizeof(std::uint32_t),
                                                  .obeys_decisions = true,
                                                  .can_sort = can_sort<std::uint16_t>,
                                                  .pays = pays,
                                                  .enqueue = enqueue_wide,
                                                  .cost = cost};

}  // namespace spansort::device::cuda
