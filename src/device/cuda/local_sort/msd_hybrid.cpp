// SPDX-License-Identifier: Apache-2.0
// The MSD hybrid radix sort (Stehle and Jacobsen, SIGMOD 2017; Onesweep, section 5, and RMG sort, section 6, describe
// it). The most significant digits of 8 bits split the records into buckets until a bucket fits on chip, where one
// block orders it by all bits that are left, with one read and one write. Neighbouring buckets that are small are
// finished together, blocks of three sizes finish larger ones, and buckets that stay large go on to the next digit, all
// of a level in one launch.
//
// A level is a histogram of its large buckets, a plan, and a partition, which is Onesweep's: the paper's own moves
// records by atomic additions and so is not stable, and this sort has to be. Plans are made on the device, and the host
// waits for none. All levels of few records are one launch (msd_all_levels.cuh); for others it launches all that a key
// could take, of which those without large buckets end at once.
//
// 2^28 uniform keys of 8 bytes take two levels, which is 64 bytes of memory traffic a key: 8 for each histogram, 16 for
// each partition and 16 for the finish. Eight passes over digits from the lowest up take 136. Keys that agree in a
// digit stay where they are on its level, but are counted. What the paper says nothing of is the finish itself
// (kernels/msd_finish.cuh).
//
// Keys of 8 and 16 bits are sorted by Onesweep's passes, of which they take one or two, and so are 2^32 records or
// more, ranges of bits that do not reach to the lowest, and GPUs with less shared memory than the finish takes.
#include <algorithm>
#include <utility>

#include "base/assert.hpp"
#include "device/cuda/injected_faults.hpp"
#include "device/cuda/kernels/msd_launch.hpp"
#include "device/cuda/local_sort/local_sort.hpp"

namespace spansort::device::cuda {
namespace {

[[nodiscard]] bool is_for_passes(const record_shape& shape, std::uint64_t num_keys) {
  return shape.codec.width_bytes() < 4 || num_keys > most_msd_keys;
}

bool can_sort(const record_shape&, std::uint64_t, compute_capability) { return true; }

std::uint64_t scratch_bytes_for(const record_shape& shape, std::uint64_t num_keys) {
  return is_for_passes(shape, num_keys) ? 0 : msd_memory_bytes(shape, num_keys);
}

[[nodiscard]] msd_request request_of(const segment_sort& segment, void* memory) {
  msd_request request;
  request.shape = segment.shape;
  request.sides[0] = segment.source;
  request.sides[1] = segment.alternate;
  request.num_keys = static_cast<std::uint32_t>(segment.count);
  request.num_bits = segment.bits.end;
  request.result_side = segment.result_in_alternate ? 1 : 0;
  request.memory = memory;
  return request;
}

records enqueue(const launch_site& site, const segment_sort& segment, void* scratch) {
  if (is_for_passes(segment.shape, segment.count) || segment.bits.begin != 0 || !has_msd_hybrid(site.family())) {
    return onesweep_sort.enqueue(site, segment, nullptr);
  }
  const msd_request request = request_of(segment, scratch);
  if (segment.shape.codec.width_bytes() == 4) {
    launch_msd_hybrid<std::uint32_t>(site, request);
  } else {
    launch_msd_hybrid<std::uint64_t>(site, request);
  }
  return request.sides[request.result_side];
}

/// Returns what uniform keys take; the host does not learn what these ones take.
sort_cost cost(const segment_sort& segment) {
  const std::uint64_t key_bytes = segment.shape.codec.width_bytes();
  const std::uint64_t record_bytes = segment.shape.bytes();
  if (is_for_passes(segment.shape, segment.count) || segment.bits.begin != 0) {
    const unsigned passes = num_local_sort_passes(segment.bits);
    return {passes, segment.count * (key_bytes + 2 * passes * record_bytes)};
  }
  const unsigned high_digits = segment.buckets.digits.num_digits;
  if (high_digits != 0) return {high_digits + 1, segment.count * (key_bytes + 2 * (high_digits + 1) * record_bytes)};
  const msd_limits limits = msd_limits_of(segment.shape.codec.width_bytes(), segment.shape.value_bytes, true);
  unsigned levels = 0;
  unsigned bits_left = segment.bits.end;
  for (std::uint64_t keys = segment.count; keys > limits.most_finished() && bits_left != 0; ++levels) {
    keys >>= max_partition_bits;
    bits_left -= std::min(bits_left, max_partition_bits);
  }
  return {levels + 1, segment.count * (levels * (key_bytes + 2 * record_bytes) + 2 * record_bytes)};
}

}  // namespace

std::uint64_t msd_memory_bytes(const record_shape& shape, std::uint64_t num_keys, const msd_beginning& beginning) {
  const auto bytes_for = [&](bool keeps_places) {
    const msd_limits limits = msd_limits_of(shape.codec.width_bytes(), shape.value_bytes, keeps_places);
    return msd_memory::in(nullptr, num_keys, limits, 0, beginning).size_bytes;
  };
  return std::max(bytes_for(false), bytes_for(true));
}

bool has_few_levels(const record_shape& shape, std::uint64_t num_keys) {
  const unsigned most_finished = msd_limits_of(shape.codec.width_bytes(), shape.value_bytes, false).most_finished();
  // There is memory for as many buckets as could be too large for a block.
  if (num_keys <= std::uint64_t{max_partition_buckets} * most_finished) return true;
  const auto faults = current_faults();
  return num_keys <= most_keys_of_one_launch && (faults == nullptr || !faults->blocks_cannot_meet());
}

// Blocks of the middle size finish keys alone fastest, but the largest ones finish records with values as fast, and
// these are partitioned the faster the fewer buckets there are. Two H100, 10^9 u64 and 5 * 10^8 u64(u64), of which each
// GPU has 128 segments: 19.5 and 20.5 ms with middle blocks, by digits of 10 and 9 bits; 20.9 and 19.5 with the largest
// ones, by digits of 9 and 8 bits; 33.0 and 31.2 by seven passes.
finished_records finished_records_of(const record_shape& shape) {
  const msd_limits limits = msd_limits_of(shape.codec.width_bytes(), shape.value_bytes, shape.value_bytes != 0);
  return {shape.value_bytes == 0 ? limits.finish_keys[1] : limits.most_finished(), limits.most_finished()};
}

bucket_digits bucket_digits_for(const record_shape& shape, std::uint64_t num_keys, unsigned least_digits) {
  const bool may_lose_order = shape.value_bytes == 0 && shape.codec.is_bijective();
  return bucket_digits_of(num_keys, finished_records_of(shape),
                          may_lose_order ? max_unordered_bits : max_published_bits, least_digits);
}

// Its keys have been looked at for less than one digit asks for, and are many enough for two.
bucket_way bucket_way_of_array(const record_shape& shape, std::uint64_t num_keys, bool is_argsort) {
  const bucket_digits digits =
      is_argsort ? bucket_digits{2, max_partition_bits} : bucket_digits_for(shape, num_keys, 2);
  return {digits, large_buckets::by_levels};
}

// Passes over the highest digits, the lowest of these first, end where as many levels do. They need one histogram,
// their tiles have more room, and that of keys alone may lose the order of the first one (onesweep_sort.cpp): of 2^28
// uniform records on an H100 u64(u64) take two passes of 3.2 ms instead of two levels of 4.9.
records enqueue_by_buckets(const launch_site& site, const segment_sort& segment) {
  SPANSORT_ASSERT(segment.shape.codec.width_bytes() == 8 && segment.bits.begin == 0);
  segment_sort high = segment;
  high.bits.begin = segment.bits.end - segment.buckets.digits.bits();
  high.digit_bits = segment.buckets.digits.digit_bits;
  const bool is_argsort = segment.argsort_keys != nullptr;
  const records end = enqueue_high_digits(site, high, is_argsort ? keys_end::encoded : keys_end::as_they_came);
  const bool ends_in_source = end.keys == segment.source.keys;
  msd_request request = request_of(segment, segment.bucket_memory);
  if (is_argsort) request.shape.codec = keys::key_codec::of_encoded(sizeof(std::uint64_t));
  if (!ends_in_source) std::swap(request.sides[0], request.sides[1]);
  request.result_side = ends_in_source == segment.result_in_alternate ? 1 : 0;
  request.beginning = segment.buckets.beginning();
  request.decision = segment.decision;
  request.spread = segment.spread;
  request.any_folded = site.memory.any_folded;
  launch_msd_hybrid<std::uint64_t>(site, request);
  return request.sides[request.result_side];
}

extern const local_sort_algorithm msd_hybrid;
constexpr local_sort_algorithm msd_hybrid{.name = "msd_hybrid",
                                          .label = "local sort by msd_hybrid",
                                          .scratch_bytes_for = scratch_bytes_for,
                                          .can_sort = can_sort,
                                          .enqueue = enqueue,
                                          .cost = cost};

}  // namespace spansort::device::cuda
