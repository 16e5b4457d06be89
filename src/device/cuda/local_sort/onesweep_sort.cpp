// SPDX-License-Identifier: Apache-2.0
// Our local sort: one histogram of all digits, then a stable partition for each digit from the lowest to the highest
// (Onesweep: Adinets and Merrill, 2022, section 3). It sorts every shape and every number of records. Who asks for it
// by name may ask for other digits, too, as table 2 of the paper does. The kernel still keeps counters and look-back
// states for the 256 buckets of its widest digit: narrow digits cost their passes, and what they could save is not
// saved. For digits of 9 bits there is a second kernel, with a state a bucket and a thread a bucket for 512; its tiles
// are smaller, for counters take the room. Equal widths would give no key a digit of 9 bits, so all but the highest one
// are as wide as was asked.
#include <algorithm>
#include <vector>

#include "device/cuda/cuda_error.hpp"
#include "device/cuda/kernels/wide_partition.hpp"
#include "device/cuda/local_sort/local_sort.hpp"
#include "device/lsd_digits.hpp"
#include "keys/dispatch.hpp"

namespace spansort::device::cuda {
namespace {

/// The partition of one width of digits.
template <class K>
struct partition_functions {
  unsigned num_buckets = max_partition_buckets;
  unsigned most_digits = max_digits_together;  ///< for which the workspace has room
  decltype(&launch_partition_step<K>) step = launch_partition_step<K>;
  decltype(&num_partition_tiles<K>) num_tiles = num_partition_tiles<K>;
  decltype(&launch_bucket_targets<K>) targets = launch_bucket_targets<K>;
};
template <class K>
partition_functions<K> functions_for(unsigned digit_bits) {
  if (digit_bits <= max_partition_bits) return {};
  return {max_wide_buckets, max_wide_digits_together, launch_wide_partition_step<K>, num_wide_partition_tiles<K>,
          launch_wide_bucket_targets<K>};
}

/// Partitions once a digit, from one array to the other and back; returns where the records end. The workspace has room
/// for the counts of partition.most_digits digits.
template <class K>
records sort_by_digits(const launch_site& site, const segment_sort& segment, const partition_functions<K>& partition,
                       records source, records alternate, const std::vector<keys::digit_position>& digits) {
  const keys::codec_of<K> codec = segment.shape.codec.template of<K>();
  const unsigned value_bytes = segment.shape.value_bytes;
  const kernel_workspace& memory = site.memory;
  // All passes' states are cleared at once where they fit. Passes over the largest inputs clear their own.
  const std::uint64_t num_tiles = partition.num_tiles(site, value_bytes, segment.count);
  const std::uint64_t num_states = num_tiles * digits.size() * partition.num_buckets;
  const bool fits = num_states <= memory.tile_capacity * max_partition_buckets;
  const std::uint64_t state_bytes = fits ? num_states * sizeof(std::uint32_t) : 0;
  SPANSORT_CUDA(cudaMemsetAsync(memory.sort_counts, 0, memory.cleared_bytes + state_bytes, site.stream));
  launch_histogram<K>(site, codec, source.keys, segment.count, digits.data(), static_cast<unsigned>(digits.size()),
                      memory.sort_counts);
  partition.targets(site, value_bytes, digits, source, alternate);
  for (std::size_t i = 0; i < digits.size(); ++i) {
    partition_step step;
    step.source = i % 2 == 0 ? source : alternate;
    step.num_keys = segment.count;
    step.digit = digits[i];
    step.targets = memory.targets + i * 2 * partition.num_buckets;
    step.decision = segment.decision;
    step.tile_counter = memory.tile_counters + i;
    if (fits) step.cleared_states = memory.tile_states + i * num_tiles * partition.num_buckets;
    partition.step(site, codec, value_bytes, step);
  }
  return digits.size() % 2 == 0 ? source : alternate;
}

/// Returns the digits of a sort. Others than the kernel's own may be asked for.
std::vector<keys::digit_position> digits_of(const segment_sort& segment) {
  if (segment.digit_bits > max_partition_bits) return full_lsd_digits(segment.bits, segment.digit_bits);
  return lsd_digits(segment.bits, segment.digit_bits == 0 ? max_partition_bits : segment.digit_bits);
}

/// Sorts by all digits. More of them than are counted together are taken in groups.
template <class K>
records sort_by_passes(const launch_site& site, const segment_sort& segment) {
  const std::vector<keys::digit_position> digits = digits_of(segment);
  const partition_functions<K> partition = functions_for<K>(segment.digit_bits);
  records from = segment.source;
  for (std::size_t begin = 0; begin < digits.size(); begin += partition.most_digits) {
    const std::size_t end = std::min<std::size_t>(digits.size(), begin + partition.most_digits);
    const records other = from.keys == segment.source.keys ? segment.alternate : segment.source;
    from = sort_by_digits<K>(
        site, segment, partition, from, other,
        {digits.begin() + static_cast<std::ptrdiff_t>(begin), digits.begin() + static_cast<std::ptrdiff_t>(end)});
  }
  return from;
}

bool can_sort(const record_shape&, std::uint64_t, compute_capability) { return true; }

records enqueue(const launch_site& site, const segment_sort& segment, void*) {
  return keys::with_width(segment.shape.codec.width_bytes(),
                          [&]<class K>() { return sort_by_passes<K>(site, segment); });
}

sort_cost cost(const segment_sort& segment) {
  const std::uint64_t num_passes = digits_of(segment).size();
  const unsigned together = functions_for<std::uint64_t>(segment.digit_bits).most_digits;
  const std::uint64_t num_counts = base::ceil_div(num_passes, std::uint64_t{together});
  return {static_cast<unsigned>(num_passes), segment.count * (num_counts * segment.shape.codec.width_bytes() +
                                                              std::uint64_t{2} * num_passes * segment.shape.bytes())};
}

}  // namespace

constexpr local_sort_algorithm onesweep_sort{.name = "onesweep",
                                             .label = "local sort",
                                             .scratch_bytes = 0,
                                             .obeys_decisions = true,
                                             .runs_side_by_side = true,
                                             .can_sort = can_sort,
                                             .enqueue = enqueue};

/// This is the same sort for those who ask for it by name.
extern const local_sort_algorithm published_onesweep;
constexpr local_sort_algorithm published_onesweep{.name = "onesweep",
                                                  .label = "local sort by onesweep",
                                                  .most_digit_bits = max_published_bits,
                                                  .can_sort = can_sort,
                                                  .enqueue = enqueue,
                                                  .cost = cost};

}  // namespace spansort::device::cuda
