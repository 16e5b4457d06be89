// SPDX-License-Identifier: Apache-2.0
// CUB's radix sort in the place of ours: the baseline that ours is held against, and a way to find out whose fault a
// wrong result is. CUB knows no codec, so keys that are not their own encoding are encoded in place before and decoded
// after.
#include <cub/device/device_radix_sort.cuh>

#include "base/assert.hpp"
#include "device/cuda/cuda_error.hpp"
#include "device/cuda/kernels/encode.cuh"
#include "device/cuda/local_sort/local_sort.hpp"

namespace spansort::device::cuda {
namespace {

/// CUB's kernels take long to compile, so they are compiled for the keys and values that are sorted most.
constexpr bool is_compiled_for(unsigned key_bytes, unsigned value_bytes) noexcept {
  return (key_bytes == 4 || key_bytes == 8) && (value_bytes == 0 || value_bytes == 4 || value_bytes == 8);
}

/// Returns whether CUB can sort such records: what an encoding folds cannot be decoded again.
bool can_sort(const record_shape& shape, std::uint64_t, compute_capability) {
  return is_compiled_for(shape.codec.width_bytes(), shape.value_bytes) && shape.codec.is_bijective();
}

/// Sorts keys that are their own encoding; returns where the records end.
template <class K, class V>
records sort_encoded(const launch_site& site, const segment_sort& s, void* scratch) {
  cub::DoubleBuffer<K> keys(static_cast<K*>(s.source.keys), static_cast<K*>(s.alternate.keys));
  cub::DoubleBuffer<V> values(static_cast<V*>(s.source.values), static_cast<V*>(s.alternate.values));
  const auto begin = static_cast<int>(s.bits.begin);
  const auto end = static_cast<int>(s.bits.end);
  std::size_t bytes = cub_scratch_bytes;
  if constexpr (value_bytes_of<V> == 0) {
    SPANSORT_CUDA(cub::DeviceRadixSort::SortKeys(scratch, bytes, keys, s.count, begin, end, site.stream));
  } else {
    SPANSORT_CUDA(cub::DeviceRadixSort::SortPairs(scratch, bytes, keys, values, s.count, begin, end, site.stream));
  }
  return keys.Current() == s.source.keys ? s.source : s.alternate;
}

template <class K>
records sort_encoded(const launch_site& site, const segment_sort& s, void* scratch) {
  switch (s.shape.value_bytes) {
    case 4: return sort_encoded<K, value4>(site, s, scratch);
    case 8: return sort_encoded<K, value8>(site, s, scratch);
    default: return sort_encoded<K, no_value>(site, s, scratch);
  }
}

template <class K>
records sort_keys(const launch_site& site, const segment_sort& s, void* scratch) {
  const keys::codec_of<K> codec = s.shape.codec.template of<K>();
  SPANSORT_ASSERT(!codec.folds_ties);
  if (codec.is_identity()) return sort_encoded<K>(site, s, scratch);
  const encoded_order<K> order(codec);
  const striding_policy policy = rearrange_policy_of(site.family()).sizes;
  const unsigned blocks = policy.num_blocks(s.count, site.num_multiprocessors);
  encode_kernel<<<blocks, policy.threads, 0, site.stream>>>(order, static_cast<K*>(s.source.keys), s.count);
  check_done(cudaGetLastError(), "encode_kernel");
  const records end = sort_encoded<K>(site, s, scratch);
  decode_kernel<<<blocks, policy.threads, 0, site.stream>>>(order, static_cast<K*>(end.keys), s.count);
  check_done(cudaGetLastError(), "decode_kernel");
  return end;
}

records enqueue(const launch_site& site, const segment_sort& s, void* scratch) {
  return s.shape.codec.width_bytes() == 4 ? sort_keys<std::uint32_t>(site, s, scratch)
                                          : sort_keys<std::uint64_t>(site, s, scratch);
}

}  // namespace

/// The host launches CUB's kernels and does not know what the order check found, so they obey no decision. Their memory
/// is for one sort at a time.
extern const local_sort_algorithm cub_sort;
constexpr local_sort_algorithm cub_sort{.name = "cub",
                                        .label = "local sort by CUB",
                                        .scratch_bytes = cub_scratch_bytes,
                                        .obeys_decisions = false,
                                        .runs_side_by_side = false,
                                        .can_sort = can_sort,
                                        .enqueue = enqueue};

}  // namespace spansort::device::cuda
