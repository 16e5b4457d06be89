// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/local_sort/even_keys.hpp"

#include <algorithm>

#include "device/cuda/cuda_error.hpp"
#include "device/cuda/kernels/evenness.hpp"
#include "device/cuda/kernels/msd_launch.hpp"

namespace spansort::device::cuda {
namespace {

[[nodiscard]] bool is_candidate(std::string_view way, const record_shape& shape, std::uint64_t num_keys) {
  constexpr std::uint64_t least_sample = 64;
  if (way == never_by_buckets || shape.codec.width_bytes() != 8 || num_keys > most_msd_keys) return false;
  if (way == always_by_buckets || way == by_buckets_where_even) return num_keys >= least_sample;
  const std::uint64_t least_bytes =
      shape.codec.is_bijective() ? least_bucket_sort_bytes : least_bucket_sort_bytes_folded;
  return way.empty() && shape.value_bytes <= most_bucket_value_bytes && num_keys * shape.bytes() >= least_bytes &&
         num_keys <= most_bucket_sort_keys;
}

}  // namespace

std::uint64_t bucket_memory_bytes(std::string_view way, const record_shape& shape, std::uint64_t num_keys) {
  if (!is_candidate(way, shape, num_keys)) return 0;
  return std::max(msd_memory_bytes(shape, num_keys), evenness_memory::size_bytes);
}

segment_way way_of(const launch_site& site, const segment_sort& segment) {
  const bool is_whole = segment.bits.begin == 0 && segment.bits.end == 64;
  if (!is_whole || !has_msd_hybrid(site.family()) || !is_candidate(segment.bucket_way, segment.shape, segment.count)) {
    return segment_way::passes;
  }
  if (segment.bucket_way == always_by_buckets) return segment_way::buckets;
  const evenness_memory memory = evenness_memory::in(segment.bucket_memory);
  launch_evenness(site, segment.shape.codec.of<std::uint64_t>(), segment.given_keys(), segment.count, segment.decision,
                  memory);
  key_evenness seen;
  SPANSORT_CUDA(cudaMemcpyAsync(&seen, memory.seen, sizeof(seen), cudaMemcpyDeviceToHost, site.stream));
  SPANSORT_CUDA(cudaStreamSynchronize(site.stream));
  if (seen.decision != order_action::passes) return segment_way::order;
  const std::uint64_t num_samples = num_evenness_samples(segment.count);
  return are_even(segment.count, num_samples, seen.same_bucket, seen.same_bin) ? segment_way::buckets
                                                                               : segment_way::passes;
}

}  // namespace spansort::device::cuda
