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

[[nodiscard]] constexpr bool is_always_by_spread(std::string_view way) {
  return way == always_by_spread || way == always_by_wide_spread;
}
/// Returns whether inputs of all sizes are looked at.
[[nodiscard]] constexpr bool is_any_size_looked_at(std::string_view way) {
  return way == by_buckets_where_even || is_always_by_spread(way);
}

constexpr bucket_way by_wider_digits{{2, max_published_bits}, large_buckets::by_levels};

/// Returns the buckets of a whole array, which those of a spread may be too large for.
[[nodiscard]] bucket_way buckets_of(const segment_sort& segment) {
  const bool is_argsort = segment.argsort_keys != nullptr;
  if (segment.wished_way == always_by_wide_spread && !is_argsort) return by_wider_digits;
  return bucket_way_of_array(segment.shape, segment.count, is_argsort);
}

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
  if (way == always_by_buckets || is_any_size_looked_at(way)) return num_keys >= least_sample;
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
  std::uint64_t of_buckets = msd_memory_bytes(shape, num_keys, bucket_way_of_array(shape, num_keys).beginning());
  if (num_keys >= least_wider_spread_keys || way == always_by_wide_spread) {
    of_buckets = std::max(of_buckets, msd_memory_bytes(shape, num_keys, by_wider_digits.beginning()));
  }
  return std::max(of_buckets, evenness_memory::size_bytes(even_keys_sizes_of(num_keys), 8));
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

/// Returns a segment's spread over the buckets of a way.
[[nodiscard]] key_spread spread_of(const launch_site& site, const bucket_way& way) {
  static_assert(sizeof(spread_table) <= kernel_workspace::counts_bytes);
  return {reinterpret_cast<spread_table*>(site.memory.counts), way.digits.bits()};
}

/// Has the device choose between passes and buckets of a spread, by the sample that a look has kept. Returns both ways.
[[nodiscard]] found_way spread_or_passes(const launch_site& site, const segment_sort& segment, const bucket_way& way) {
  const even_keys_sizes sizes = even_keys_sizes_of(segment.count);
  const spread_request request{.spread = spread_of(site, way),
                               .decision = segment.decision,
                               .ways = site.memory.ways,
                               .num_keys = segment.count,
                               .most_finished = finished_records_of(segment.shape).most};
  launch_key_spread(site, sizes, evenness_memory::in(segment.bucket_memory, sizes), request);
  return {segment_way::passes_or_buckets, way, request.spread};
}

/// Returns the way of keys of which a look has kept a sample: by buckets of a spread where these are even, else passes.
/// Buckets that are too large for blocks are tried once more by wider digits.
[[nodiscard]] found_way way_by_spread(const launch_site& site, const segment_sort& segment) {
  const even_keys_sizes sizes = even_keys_sizes_of(segment.count);
  const std::uint64_t most_finished = finished_records_of(segment.shape).most;
  const evenness_memory memory = evenness_memory::in(segment.bucket_memory, sizes);
  bucket_way way = buckets_of(segment);
  for (;;) {
    mailbox_lease<spread_mailbox> mailbox(site.stream);
    const spread_mailbox* const found = mailbox.get();
    if (found == nullptr) return {};
    const key_spread spread = spread_of(site, way);
    launch_key_spread(site, sizes, memory, {.spread = spread, .mailbox = mailbox.get()});
    static_cast<void>(mailbox.wait(found->is_full, 0U, true));
    const auto fits = [&](const bucket_way& some) {
      return are_spread(segment.count, std::uint64_t{1} << some.digits.bits(), most_finished, found->same_bucket,
                        found->same_key);
    };
    if (fits(way) || is_always_by_spread(segment.wished_way)) return {segment_way::buckets, way, spread};
    const bool may_be_wider = segment.argsort_keys == nullptr && segment.count >= least_wider_spread_keys;
    if (!may_be_wider || way == by_wider_digits || !fits(by_wider_digits)) return {};
    way = by_wider_digits;
  }
}

/// Returns the way of keys that go by buckets, or are counted, where they are even for that.
[[nodiscard]] found_way way_of_look(const launch_site& site, const segment_sort& segment, even_for purpose) {
  const bool is_for_buckets = purpose == even_for::buckets;
  const bucket_way buckets = is_for_buckets ? buckets_of(segment) : bucket_way{};
  const found_way other{is_for_buckets ? segment_way::buckets : segment_way::counts, buckets};
  if (segment.wished_way == always_by_buckets) return other;
  if (!segment.host_may_wait) {
    look_at(site, segment, purpose, {.ways = site.memory.ways});
    return is_for_buckets ? spread_or_passes(site, segment, buckets)
                          : found_way{segment_way::passes_or_counts, buckets};
  }
  mailbox_lease<evenness_mailbox> mailbox(site.stream);
  if (mailbox.get() == nullptr) return {};
  look_at(site, segment, purpose, {.mailbox = mailbox.get()});
  static_cast<void>(mailbox.wait(mailbox.get()->is_full, 0U, true));
  const key_evenness seen = mailbox.get()->seen;
  if (seen.decision != order_action::passes) return {segment_way::order};
  if (are_even_for(purpose, segment.count, seen) && !is_always_by_spread(segment.wished_way)) return other;
  const bool may_be_spread =
      is_always_by_spread(segment.wished_way) || is_worth_second_look(segment.count, seen.coarse_same_key);
  return is_for_buckets && may_be_spread ? way_by_spread(site, segment) : found_way{};
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
