// SPDX-License-Identifier: Apache-2.0
// Keys of 4 bytes, of which there are many and few of each value: passes over the two high digits leave buckets whose
// keys differ in 16 bits alone, and these are counted (kernels/counting_finish.hpp). That is one read and one write in
// the place of the two low digits' passes. It sorts whatever there is, but a bucket that has a large part of all keys,
// or many copies of one, takes long: even_keys.cpp tells from a sample.
#include "base/assert.hpp"
#include "device/cuda/kernels/counting_finish.hpp"
#include "device/cuda/local_sort/local_sort.hpp"

namespace spansort::device::cuda {
namespace {

/// `scratch` has counting_finish_memory::size_bytes.
records enqueue(const launch_site& site, const segment_sort& segment, void* scratch) {
  segment_sort high = segment;
  high.bits = {counted_bits, segment.bits.end};
  const records end = enqueue_high_digits(site, high, keys_end::encoded);
  const bool ends_in_source = end.keys == segment.source.keys;
  const records other = ends_in_source ? segment.alternate : segment.source;
  counting_finish_request request;
  request.held = end;
  request.other = other;
  request.to_other = ends_in_source == segment.result_in_alternate;
  request.stores_keys = segment.argsort_keys == nullptr;
  request.value_bytes = segment.shape.value_bytes;
  request.num_keys = segment.count;
  request.memory = counting_finish_memory::in(scratch);
  request.when = {segment.decision, order_action::passes};
  // The passes of an argsort leave keys encoded.
  const keys::key_codec codec =
      segment.argsort_keys == nullptr ? segment.shape.codec : keys::key_codec::of_encoded(sizeof(std::uint32_t));
  launch_counting_finish(site, codec.of<std::uint32_t>(), request);
  return request.to_other ? other : end;
}

sort_cost cost(const segment_sort& segment) {
  const unsigned passes = num_local_sort_passes({counted_bits, segment.bits.end}) + 1;
  return {passes, segment.count * (segment.shape.codec.width_bytes() + 2 * passes * segment.shape.bytes())};
}

}  // namespace

extern const local_sort_algorithm onesweep_counting;
constexpr local_sort_algorithm onesweep_counting{
    .name = "onesweep_counting", .label = "local sort by onesweep and counting", .enqueue = enqueue, .cost = cost};

}  // namespace spansort::device::cuda
