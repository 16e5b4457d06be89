// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/local_sort/even_keys.hpp"

#include <algorithm>
#include <bit>

#include "device/cuda/kernels/counting_finish.hpp"
#include "device/cuda/kernels/evenness.hpp"
#include "device/cuda/kernels/msd_launch.hpp"
#include "device/cuda/local_sort/mailbox.hpp"

namespace spansort::device::cuda {
namespace {

/// Fewer keys are not looked at, whatever the way.
constexpr std::uint64_t least_sample = 64;

/// Returns whether such keys may be counted by their low bits behind passes over the high ones.
[[nodiscard]] bool may_be_counted(std::string_view way, const record_shape& shape, std::uint64_t num_keys) {
  if (shape.codec.width_bytes() != 4 || !is_counted_width(shape.value_bytes)) return false;
  if (way == always_by_buckets || way == by_buckets_where_even) {
    return num_keys >= least_sample && num_keys <= most_counted_records;
  }
  const std::uint64_t most = shape.value_bytes == 0 ? most_counted_records : most_counted_with_values;
  return way.empty() && num_keys >= least_counted_records && num_keys <= most;
}

[[nodiscard]] bool may_go_by_buckets(std::string_view way, const record_shape& shape, std::uint64_t num_keys) {
  if (shape.codec.width_bytes() != 8 || num_keys > most_msd_keys) return false;
  if (way == always_by_buckets || way == by_buckets_where_even || way == always_by_spread) {
    return num_keys >= least_sample;
  }
  return way.empty() && shape.value_bytes <= most_bucket_value_bytes &&
         num_keys * shape.bytes() >= least_bucket_sort_bytes && num_keys <= most_bucket_sort_keys;
}

}  // namespace

std::uint64_t bucket_memory_bytes(std::string_view way, const record_shape& shape, std::uint64_t num_keys) {
  if (may_be_counted(way, shape, num_keys)) {
    return std::max(counting_finish_memory::size_bytes,
                    evenness_memory::size_bytes(counted_keys_sizes_of(num_keys), 4));
  }
  if (!may_go_by_buckets(way, shape, num_keys)) return 0;
  return std::max(msd_memory_bytes(shape, num_keys, bucket_way_of_array(shape, num_keys).beginning()),
                  evenness_memory::size_bytes(even_keys_sizes_of(num_keys), 8));
}

namespace {

/// Looks at a sample of the segment's keys.
void look_at(const launch_site& site, const segment_sort& segment, even_for purpose, evenness_answer answer) {
  const bool is_for_buckets = purpose == even_for::buckets;
  const even_keys_sizes sizes =
      is_for_buckets ? even_keys_sizes_of(segment.count) : counted_keys_sizes_of(segment.count);
  const unsigned key_bits = 8 * segment.shape.codec.width_bytes();
  const unsigned bin_shift = is_for_buckets ? key_bits - static_cast<unsigned>(std::bit_width(segment.count - 1)) : 0;
  answer.purpose = purpose;
  const auto look = [&]<class K>() {
    launch_evenness<K>(site, segment.shape.codec.of<K>(), segment.given_keys(), segment.count, sizes, bin_shift,
                       segment.decision, evenness_memory::in(segment.bucket_memory, sizes), answer);
  };
  if (segment.shape.codec.width_bytes() == 4) {
    look.operator()<std::uint32_t>();
  } else {
    look.operator()<std::uint64_t>();
  }
}

/// Returns the way of keys of which a look has kept a sample: by buckets of a spread where these are even, else passes.
/// Buckets that are too large for blocks are tried once more by wider digits.
[[nodiscard]] found_way way_by_spread(const launch_site& site, const segment_sort& segment) {
  const bool is_wished = segment.wished_way == by_buckets_where_even || segment.wished_way == always_by_spread;
  if (segment.count * segment.shape.bytes() < least_spread_bytes && !is_wished) return {};
  const bool is_argsort = segment.argsort_keys != nullptr;
  const even_keys_sizes sizes = even_keys_sizes_of(segment.count);
  const std::uint64_t most_finished = finished_records_of(segment.shape).most;
  auto* const cells = reinterpret_cast<std::uint32_t*>(site.memory.counts);
  static_assert(spread_cells_bytes <= kernel_workspace::counts_bytes);
  bucket_way way = bucket_way_of_array(segment.shape, segment.count, is_argsort);
  for (;;) {
    mailbox_lease<spread_mailbox> mailbox(site.stream);
    const spread_mailbox* const found = mailbox.get();
    if (found == nullptr) return {};
    launch_key_spread(site, sizes, evenness_memory::in(segment.bucket_memory, sizes), way.digits.bits(), cells,
                      mailbox.get());
    static_cast<void>(mailbox.wait(found->is_full, 0U, true));
    const auto fits = [&](const bucket_digits& digits) {
      return are_spread(segment.count, std::uint64_t{1} << digits.bits(), most_finished, found->same_bucket,
                        found->same_key);
    };
    if (fits(way.digits) || segment.wished_way == always_by_spread) {
      return {segment_way::buckets, way, found->spread};
    }
    constexpr bucket_digits wider{2, max_published_bits};
    if (is_argsort || way.digits == wider || !fits(wider)) return {};
    way.digits = wider;
  }
}

/// Returns the way of keys that go by buckets, or are counted, where they are even for that.
[[nodiscard]] found_way way_of_look(const launch_site& site, const segment_sort& segment, even_for purpose) {
  const bool is_for_buckets = purpose == even_for::buckets;
  const bucket_way buckets = is_for_buckets
                                 ? bucket_way_of_array(segment.shape, segment.count, segment.argsort_keys != nullptr)
                                 : bucket_way{};
  const found_way other{is_for_buckets ? segment_way::buckets : segment_way::counts, buckets};
  if (segment.wished_way == always_by_buckets) return other;
  if (!segment.host_may_wait) {
    look_at(site, segment, purpose, {.ways = site.memory.ways});
    return {is_for_buckets ? segment_way::passes_or_buckets : segment_way::passes_or_counts, buckets};
  }
  mailbox_lease<evenness_mailbox> mailbox(site.stream);
  if (mailbox.get() == nullptr) return {};
  look_at(site, segment, purpose, {.mailbox = mailbox.get()});
  static_cast<void>(mailbox.wait(mailbox.get()->is_full, 0U, true));
  const key_evenness seen = mailbox.get()->seen;
  if (seen.decision != order_action::passes) return {segment_way::order};
  if (are_even_for(purpose, segment.count, seen) && segment.wished_way != always_by_spread) return other;
  return is_for_buckets ? way_by_spread(site, segment) : found_way{};
}

}  // namespace

found_way way_of(const launch_site& site, const segment_sort& segment) {
  const unsigned key_bits = 8 * segment.shape.codec.width_bytes();
  const bool is_whole = segment.bits.begin == 0 && segment.bits.end == key_bits;
  const bool loses_ties = !segment.shape.codec.is_bijective() && segment.argsort_keys == nullptr;
  const bool is_for_counts = is_whole && !loses_ties && has_counting_finish(site.family()) &&
                             may_be_counted(segment.wished_way, segment.shape, segment.count);
  if (is_for_counts) {
    const bool has_values = segment.shape.value_bytes != 0;
    return way_of_look(site, segment, has_values ? even_for::counted_records : even_for::counted_keys);
  }
  if (segment.argsort_keys != nullptr && segment.count > most_bucket_argsort_keys) return {};
  if (!is_whole || !has_msd_hybrid(site.family()) ||
      !may_go_by_buckets(segment.wished_way, segment.shape, segment.count)) {
    return {};
  }
  // All levels in one launch do not ask whether they are wanted.
  if (!segment.host_may_wait && has_few_levels(segment.shape, segment.count)) return {};
  return way_of_look(site, segment, even_for::buckets);
}

}  // namespace spansort::device::cuda
