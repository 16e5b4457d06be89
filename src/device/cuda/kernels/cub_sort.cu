// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/kernels/cub_sort.hpp"

#include <cub/device/device_radix_sort.cuh>

#include "device/cuda/cuda_error.hpp"

namespace spansort::device::cuda {
namespace {

/// With null memory CUB only says how much it needs. Both buffers' selectors then are as they were.
template <class K, class V>
void run_cub(void* memory, std::size_t& bytes, cub::DoubleBuffer<K>& keys, cub::DoubleBuffer<V>& values,
             std::uint64_t count, keys::bit_range bits, cudaStream_t stream) {
  const auto begin = static_cast<int>(bits.begin);
  const auto end = static_cast<int>(bits.end);
  if constexpr (value_bytes_of<V> == 0) {
    SPANSORT_CUDA(cub::DeviceRadixSort::SortKeys(memory, bytes, keys, count, begin, end, stream));
  } else {
    SPANSORT_CUDA(cub::DeviceRadixSort::SortPairs(memory, bytes, keys, values, count, begin, end, stream));
  }
}

}  // namespace

template <class K, class V>
bool fits_cub_sort(const launch_site& site, std::uint64_t count, keys::bit_range bits) {
  cub::DoubleBuffer<K> no_keys;
  cub::DoubleBuffer<V> no_values;
  std::size_t bytes = 0;
  run_cub(nullptr, bytes, no_keys, no_values, count, bits, site.stream);
  return bytes <= site.memory.tile_capacity * kernel_workspace::tile_state_bytes;
}

template <class K, class V>
records launch_cub_sort(const launch_site& site, records source, records alternate, std::uint64_t count,
                        keys::bit_range bits) {
  cub::DoubleBuffer<K> keys(static_cast<K*>(source.keys), static_cast<K*>(alternate.keys));
  cub::DoubleBuffer<V> values(static_cast<V*>(source.values), static_cast<V*>(alternate.values));
  std::size_t bytes = site.memory.tile_capacity * kernel_workspace::tile_state_bytes;
  run_cub(site.memory.tile_states, bytes, keys, values, count, bits, site.stream);
  return keys.Current() == source.keys ? source : alternate;
}

#define SPANSORT_INSTANTIATE_CUB_SORT(K, V)                                                   \
  template bool fits_cub_sort<K, V>(const launch_site&, std::uint64_t, keys::bit_range);       \
  template records launch_cub_sort<K, V>(const launch_site&, records, records, std::uint64_t, \
                                         keys::bit_range)

SPANSORT_INSTANTIATE_CUB_SORT(std::uint32_t, no_value);
SPANSORT_INSTANTIATE_CUB_SORT(std::uint32_t, value4);
SPANSORT_INSTANTIATE_CUB_SORT(std::uint32_t, value8);
SPANSORT_INSTANTIATE_CUB_SORT(std::uint64_t, no_value);
SPANSORT_INSTANTIATE_CUB_SORT(std::uint64_t, value4);
SPANSORT_INSTANTIATE_CUB_SORT(std::uint64_t, value8);

}  // namespace spansort::device::cuda
