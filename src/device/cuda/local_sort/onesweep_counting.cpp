// SPDX-License-Identifier: Apache-2.0
// Keys of 4 bytes, of which there are many and few of each value: passes over the two high digits leave buckets whose
// keys differ in 16 bits alone, and these are counted (kernels/counting_finish.hpp). That is one read and one write in
// the place of the two low digits' passes. It sorts whatever there is, but a bucket that has a large part of all keys,
// or many copies of one, takes long: even_keys.cpp tells from a sample.
//
// Segments, above whose lowest 24 or 25 bits all keys agree, as the buckets of RMG sort do, take a pass over one digit
// before they are counted (even_segments.cpp tells which). The histogram of that pass says where the buckets begin.
#include "base/assert.hpp"
#include "device/cuda/kernels/counting_finish.hpp"
#include "device/cuda/local_sort/local_sort.hpp"

namespace spansort::device::cuda {
namespace {

/// Returns what the finish is asked for, whose keys are in order by their high bits in `end`. It leaves them where the
/// segment asks for them.
[[nodiscard]] counting_finish_request request_of(const segment_sort& segment, const records& end) {
  const bool ends_in_source = end.keys == segment.source.keys;
  counting_finish_request request;
  request.held = end;
  request.other = ends_in_source ? segment.alternate : segment.source;
  request.to_other = ends_in_source == segment.result_in_alternate;
  request.stores_keys = segment.argsort_keys == nullptr;
  request.value_bytes = segment.shape.value_bytes;
  request.num_keys = segment.count;
  request.when = {segment.decision, order_action::passes};
  return request;
}

/// `scratch` has counting_finish_memory::size_bytes.
records enqueue(const launch_site& site, const segment_sort& segment, void* scratch) {
  segment_sort high = segment;
  high.bits = {counted_bits, segment.bits.end};
  counting_finish_request request = request_of(segment, enqueue_high_digits(site, high, keys_end::encoded));
  request.memory = counting_finish_memory::in(scratch);
  // The passes of an argsort leave keys encoded.
  const keys::key_codec codec =
      segment.argsort_keys == nullptr ? segment.shape.codec : keys::key_codec::of_encoded(sizeof(std::uint32_t));
  launch_counting_finish(site, codec.of<std::uint32_t>(), request);
  return request.to_other ? request.other : request.held;
}

sort_cost cost(const segment_sort& segment) {
  const unsigned digits = segment.buckets.digits.num_digits;
  const unsigned passes = (digits != 0 ? digits : num_local_sort_passes({counted_bits, segment.bits.end})) + 1;
  return {passes, segment.count * (segment.shape.codec.width_bytes() + 2 * passes * segment.shape.bytes())};
}

}  // namespace

// Blocks of the lesser size alone pay for segments of pairs: with the others two H200 took 18.8 ms for 10^9 u32(u32),
// where passes take 17.8.
bucket_way counted_way(const record_shape& shape, std::uint64_t num_keys, unsigned num_bits) {
  if (num_bits <= counted_bits) return {};  // two passes sort these
  for (const unsigned digit_bits : {max_partition_bits, max_published_bits}) {
    // Blocks count keys alone however many a bucket has.
    const bool fits =
        shape.value_bytes == 0 ? digit_bits == max_partition_bits : num_keys <= most_average_of_few << digit_bits;
    if (fits && num_bits <= counted_bits + digit_bits) return {{1, digit_bits}};
  }
  return {};
}

records enqueue_by_counts(const launch_site& site, const segment_sort& segment) {
  SPANSORT_ASSERT(segment.argsort_keys == nullptr && segment.bits.begin == 0);
  segment_sort high = segment;
  high.bits.begin = segment.bits.end - segment.buckets.digits.bits();
  high.digit_bits = segment.buckets.digits.digit_bits;
  counting_finish_request request = request_of(segment, enqueue_high_digits(site, high, keys_end::as_they_came));
  request.memory.next_job = site.memory.tile_counters + max_digits_together;
  request.segment = {site.memory.sort_counts, {high.bits.begin, high.bits.size()}};
  launch_counting_finish(site, segment.shape.codec.of<std::uint32_t>(), request);
  return request.to_other ? request.other : request.held;
}

extern const local_sort_algorithm onesweep_counting;
constexpr local_sort_algorithm onesweep_counting{
    .name = "onesweep_counting", .label = "local sort by onesweep and counting", .enqueue = enqueue, .cost = cost};

}  // namespace spansort::device::cuda
