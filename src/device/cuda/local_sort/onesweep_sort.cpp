// SPDX-License-Identifier: Apache-2.0
// Our local sort: one histogram of all digits, then a stable partition for each digit from the lowest to the highest
// (Onesweep: Adinets and Merrill, 2022, section 3). It sorts every shape and every number of records. Who asks for it
// by name may ask for other digits, too, as table 2 of the paper does. The kernel still keeps counters and look-back
// states for the 256 buckets of its widest digit: narrow digits cost their passes, and what they could save is not
// saved. For digits of 9 bits there is a second kernel, with a state a bucket and a thread a bucket for 512; its tiles
// are smaller, for counters take the room. Equal widths would give no key a digit of 9 bits, so all but the highest one
// are as wide as was asked. Sorts by buckets take it as well (bucket_digits_of()), and of keys of 8 bytes alone a third
// one, for a single digit of 10 bits whose keys may lose their order.
//
// The first pass over keys alone need not keep their order, for the passes behind it order all that it could confuse,
// and takes less time so (unordered_partition.cuh). An argsort's first pass makes the positions that are its values
// and stores the keys encoded, and its last pass stores no keys. Keys alone that need an encoding are encoded by the
// first pass and decoded by the last one, too.
#include <algorithm>
#include <optional>
#include <vector>

#include "base/assert.hpp"
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
  if constexpr (sizeof(K) == 8) {
    if (digit_bits == max_unordered_bits) {
      return {max_unordered_buckets, max_unordered_digits_together, launch_wide_unordered_step,
              num_wide_partition_tiles<K>, launch_wide_unordered_targets};
    }
  }
  return {max_wide_buckets, max_wide_digits_together, launch_wide_partition_step<K>, num_wide_partition_tiles<K>,
          launch_wide_bucket_targets<K>};
}

/// Digits of a sort that are counted together: the first and the last of them may be those of the whole sort.
struct digit_run {
  const std::vector<keys::digit_position>& digits;
  bool begins_sort = true;
  bool ends_sort = true;
};

/// Which keys may lose their order in the first pass.
enum class first_pass : std::uint8_t { keeps_order, any_order };

/// Passes of one run of digits as they go. The workspace has room for the counts of partition.most_digits digits.
template <class K>
class digit_passes {
 public:
  digit_passes(const launch_site& site, const segment_sort& segment, const partition_functions<K>& partition,
               first_pass first, const digit_run& run)
      : site_(site), segment_(segment), partition_(partition), run_(run) {
    const bool may_lose_order = run.begins_sort && first == first_pass::any_order;
    any_order_ = may_lose_order && partition.num_buckets != max_wide_buckets &&
                 has_unordered_partition(codec_, segment.shape.value_bytes);
    SPANSORT_ASSERT(any_order_ || partition.num_buckets != max_unordered_buckets);
    num_tiles_ = partition.num_tiles(site, segment.shape.value_bytes, segment.count);
    const std::uint64_t all_states = num_tiles_ * (run.digits.size() - num_without_states()) * partition.num_buckets;
    num_states_ = all_states <= site.memory.tile_capacity * max_partition_buckets ? all_states : 0;
  }

  /// Partitions once a digit, from one array to the other and back; returns where the records end.
  records sort(records source, records alternate) const {
    const kernel_workspace& memory = site_.memory;
    const unsigned value_bytes = segment_.shape.value_bytes;
    SPANSORT_CUDA(cudaMemsetAsync(memory.sort_counts, 0, memory.cleared_bytes + num_states_ * sizeof(std::uint32_t),
                                  site_.stream));
    const void* const first_keys = run_.begins_sort ? segment_.given_keys() : source.keys;
    launch_histogram<K>(site_, codec_of_source(0), first_keys, segment_.count, run_.digits.data(),
                        static_cast<unsigned>(run_.digits.size()), memory.sort_counts, segment_.decision,
                        segment_.spread, segment_.argsort_keys == nullptr ? memory.any_folded : nullptr);
    partition_.targets(site_, value_bytes, run_.digits, source, alternate);
    for (std::size_t i = 0; i < run_.digits.size(); ++i) {
      partition_step step = step_of(i);
      step.source = i % 2 == 0 ? source : alternate;
      // A step only reads its source.
      if (i == 0) step.source.keys = const_cast<void*>(first_keys);
      const bool is_recoded = step.recoding != key_recoding::none;
      partition_.step(site_, is_recoded ? codec_ : codec_of_source(i), value_bytes, step);
    }
    return run_.digits.size() % 2 == 0 ? source : alternate;
  }

 private:
  [[nodiscard]] std::size_t num_without_states() const { return any_order_ ? 1 : 0; }

  [[nodiscard]] bool is_first(std::size_t i) const { return run_.begins_sort && i == 0; }
  [[nodiscard]] bool is_last(std::size_t i) const { return run_.ends_sort && i + 1 == run_.digits.size(); }

  /// Returns whether keys are encoded by the first pass and decoded by the last one. One pass alone has no use for it.
  [[nodiscard]] bool recodes() const {
    const bool has_one_pass = is_first(0) && is_last(0);
    return !has_one_pass && segment_.shape.value_bytes == 0 && !codec_.is_identity() && !codec_.folds_ties &&
           partition_.num_buckets == max_partition_buckets;
  }

  /// Returns the codec of the keys that a pass finds.
  [[nodiscard]] const keys::codec_of<K>& codec_of_source(std::size_t i) const {
    const bool is_encoded = (segment_.argsort_keys != nullptr || recodes()) && !is_first(i);
    return is_encoded ? encoded_ : codec_;
  }

  [[nodiscard]] partition_step step_of(std::size_t i) const {
    const kernel_workspace& memory = site_.memory;
    partition_step step;
    step.num_keys = segment_.count;
    step.digit = run_.digits[i];
    step.targets = memory.targets + i * 2 * partition_.num_buckets;
    step.decision = segment_.decision;
    step.tile_counter = memory.tile_counters + i;
    step.any_order = any_order_ && i == 0;
    step.spread = segment_.spread;
    step.any_folded = memory.any_folded;
    if (recodes()) {
      step.recoding = is_first(i) ? key_recoding::encodes : is_last(i) ? key_recoding::decodes : key_recoding::none;
    }
    if (segment_.argsort_keys != nullptr) {
      step.begins_argsort = is_first(i);
      step.drops_keys = is_last(i);
    }
    // All passes' states are cleared at once where they fit. Passes over the largest inputs clear their own.
    if (num_states_ != 0 && !step.any_order) {
      step.cleared_states = memory.tile_states + (i - num_without_states()) * num_tiles_ * partition_.num_buckets;
    }
    return step;
  }

  const launch_site& site_;
  const segment_sort& segment_;
  const partition_functions<K>& partition_;
  const digit_run& run_;
  const keys::codec_of<K> codec_ = segment_.shape.codec.template of<K>();
  const keys::codec_of<K> encoded_ = keys::key_codec::of_encoded(sizeof(K)).template of<K>();
  bool any_order_ = false;  ///< in the first pass
  std::uint64_t num_tiles_ = 0;
  std::uint64_t num_states_ = 0;  ///< of all passes; 0: they do not fit
};

/// Lists the digits of a sort. Others than the kernel's own may be asked for.
void list_digits(const segment_sort& segment, std::vector<keys::digit_position>& digits) {
  digits.clear();
  if (segment.digit_bits > max_partition_bits) return add_full_lsd_digits(segment.bits, segment.digit_bits, digits);
  add_lsd_digits(segment.bits, segment.digit_bits == 0 ? max_partition_bits : segment.digit_bits, digits);
}

/// Sorts by all digits. More of them than are counted together are taken in groups. `ends_sort` says that nothing comes
/// behind these passes.
template <class K>
records sort_by_passes(const launch_site& site, const segment_sort& segment, first_pass first, bool ends_sort = true) {
  std::optional<pass_lists> own;
  pass_lists& lists = segment.lists == nullptr ? own.emplace() : *segment.lists;
  std::vector<keys::digit_position>& digits = lists.all;
  list_digits(segment, digits);
  const partition_functions<K> partition = functions_for<K>(segment.digit_bits);
  records from = segment.source;
  for (std::size_t begin = 0; begin < digits.size(); begin += partition.most_digits) {
    const std::size_t end = std::min<std::size_t>(digits.size(), begin + partition.most_digits);
    const records other = from.keys == segment.source.keys ? segment.alternate : segment.source;
    lists.together.assign(digits.begin() + static_cast<std::ptrdiff_t>(begin),
                          digits.begin() + static_cast<std::ptrdiff_t>(end));
    const digit_run run{lists.together, begin == 0, ends_sort && end == digits.size()};
    from = digit_passes<K>(site, segment, partition, first, run).sort(from, other);
  }
  return from;
}

bool can_sort(const record_shape&, std::uint64_t, compute_capability) { return true; }

records enqueue(const launch_site& site, const segment_sort& segment, void*) {
  const first_pass first = segment.bits.begin == 0 ? first_pass::any_order : first_pass::keeps_order;
  return keys::with_width(segment.shape.codec.width_bytes(),
                          [&]<class K>() { return sort_by_passes<K>(site, segment, first); });
}

records enqueue_published(const launch_site& site, const segment_sort& segment, void*) {
  return keys::with_width(segment.shape.codec.width_bytes(),
                          [&]<class K>() { return sort_by_passes<K>(site, segment, first_pass::keeps_order); });
}

}  // namespace

records enqueue_high_digits(const launch_site& site, const segment_sort& segment, keys_end end) {
  return keys::with_width(segment.shape.codec.width_bytes(), [&]<class K>() {
    return sort_by_passes<K>(site, segment, first_pass::any_order, end == keys_end::as_they_came);
  });
}

namespace {

sort_cost cost(const segment_sort& segment) {
  std::vector<keys::digit_position> digits;
  list_digits(segment, digits);
  const std::uint64_t num_passes = digits.size();
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
                                             .makes_positions = true,
                                             .runs_side_by_side = true,
                                             .can_sort = can_sort,
                                             .enqueue = enqueue};

/// This is the same sort for those who ask for it by name, with the paper's passes throughout.
extern const local_sort_algorithm published_onesweep;
constexpr local_sort_algorithm published_onesweep{.name = "onesweep",
                                                  .label = "local sort by onesweep",
                                                  .most_digit_bits = max_published_bits,
                                                  .can_sort = can_sort,
                                                  .enqueue = enqueue_published,
                                                  .cost = cost};

}  // namespace spansort::device::cuda
