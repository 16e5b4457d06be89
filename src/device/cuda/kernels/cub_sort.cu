// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/kernels/cub_sort.hpp"

#include <cub/device/device_radix_sort.cuh>

#include "device/cuda/cuda_error.hpp"

namespace spansort::device::cuda {

template <class K, class V>
records launch_cub_sort(const launch_site& site, records source, records alternate, std::uint64_t count,
                        keys::bit_range bits) {
  cub::DoubleBuffer<K> keys(static_cast<K*>(source.keys), static_cast<K*>(alternate.keys));
  cub::DoubleBuffer<V> values(static_cast<V*>(source.values), static_cast<V*>(alternate.values));
  const auto begin = static_cast<int>(bits.begin);
  const auto end = static_cast<int>(bits.end);
  std::size_t bytes = cub_scratch_bytes;
  if constexpr (value_bytes_of<V> == 0) {
    SPANSORT_CUDA(cub::DeviceRadixSort::SortKeys(site.cub_memory, bytes, keys, count, begin, end, site.stream));
  } else {
    SPANSORT_CUDA(
        cub::DeviceRadixSort::SortPairs(site.cub_memory, bytes, keys, values, count, begin, end, site.stream));
  }
  return keys.Current() == source.keys ? source : alternate;
}

#define SPANSORT_INSTANTIATE_CUB_SORT(K, V) \
  template records launch_cub_sort<K, V>(const launch_site&, records, records, std::uint64_t, keys::bit_range)

SPANSORT_INSTANTIATE_CUB_SORT(std::uint32_t, no_value);
SPANSORT_INSTANTIATE_CUB_SORT(std::uint32_t, value4);
SPANSORT_INSTANTIATE_CUB_SORT(std::uint32_t, value8);
SPANSORT_INSTANTIATE_CUB_SORT(std::uint64_t, no_value);
SPANSORT_INSTANTIATE_CUB_SORT(std::uint64_t, value4);
SPANSORT_INSTANTIATE_CUB_SORT(std::uint64_t, value8);

}  // namespace spansort::device::cuda
