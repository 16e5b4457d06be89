// SPDX-License-Identifier: Apache-2.0
// Our local sort: one histogram of all digits, then a stable partition for each digit from the lowest to the highest
// (Onesweep: Adinets and Merrill, 2022). It sorts every shape and every number of records.
#include <vector>

#include "device/cuda/cuda_error.hpp"
#include "device/cuda/local_sort/local_sort.hpp"
#include "keys/dispatch.hpp"

namespace spansort::device::cuda {
namespace {

/// Returns digits of equal width, up to one bit, that cover `bits`, lowest first.
std::vector<keys::digit_position> digits_over(keys::bit_range bits) {
  const unsigned count = num_local_sort_passes(bits);
  std::vector<keys::digit_position> digits;
  unsigned shift = bits.begin;
  for (unsigned i = 0; i < count; ++i) {
    const unsigned width = (bits.end - shift) / (count - i) + ((bits.end - shift) % (count - i) != 0 ? 1 : 0);
    digits.push_back({shift, width});
    shift += width;
  }
  return digits;
}

/// Partitions once a digit, from one array to the other and back; returns where the records end.
template <class K>
records sort_by_passes(const launch_site& site, const segment_sort& segment) {
  const keys::codec_of<K> codec = segment.shape.codec.template of<K>();
  const unsigned value_bytes = segment.shape.value_bytes;
  const std::vector<keys::digit_position> digits = digits_over(segment.bits);
  const kernel_workspace& memory = site.memory;
  // All passes' states are cleared at once where they fit. Passes over the largest inputs clear their own.
  const std::uint64_t num_tiles = num_partition_tiles<K>(site, value_bytes, segment.count);
  const bool fits = num_tiles * digits.size() <= memory.tile_capacity;
  const std::uint64_t state_bytes = fits ? num_tiles * digits.size() * kernel_workspace::tile_state_bytes : 0;
  SPANSORT_CUDA(cudaMemsetAsync(memory.sort_counts, 0, memory.cleared_bytes + state_bytes, site.stream));
  launch_histogram<K>(site, codec, segment.source.keys, segment.count, digits.data(),
                      static_cast<unsigned>(digits.size()), memory.sort_counts);
  launch_bucket_targets<K>(site, value_bytes, digits, segment.source, segment.alternate);
  for (std::size_t i = 0; i < digits.size(); ++i) {
    partition_step step;
    step.source = i % 2 == 0 ? segment.source : segment.alternate;
    step.num_keys = segment.count;
    step.digit = digits[i];
    step.targets = memory.targets + i * 2 * max_partition_buckets;
    step.decision = segment.decision;
    step.tile_counter = memory.tile_counters + i;
    if (fits) step.cleared_states = memory.tile_states + i * num_tiles * max_partition_buckets;
    launch_partition_step<K>(site, codec, value_bytes, step);
  }
  return digits.size() % 2 == 0 ? segment.source : segment.alternate;
}

bool can_sort(const record_shape&, std::uint64_t, compute_capability) { return true; }

records enqueue(const launch_site& site, const segment_sort& segment, void*) {
  return keys::with_width(segment.shape.codec.width_bytes(),
                          [&]<class K>() { return sort_by_passes<K>(site, segment); });
}

}  // namespace

constexpr local_sort_algorithm onesweep_sort{.name = "onesweep",
                                             .label = "local sort",
                                             .scratch_bytes = 0,
                                             .obeys_decisions = true,
                                             .runs_side_by_side = true,
                                             .can_sort = can_sort,
                                             .enqueue = enqueue};

}  // namespace spansort::device::cuda
