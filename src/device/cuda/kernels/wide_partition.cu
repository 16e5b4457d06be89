// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/kernels/wide_partition.hpp"

#include "device/cuda/kernels/partition_launch-inl.cuh"
#include "device/cuda/kernels/published_sorts.cuh"
#include "device/cuda/kernels/spread_order.cuh"

namespace spansort::device::cuda {

template <class K>
void launch_wide_partition_step(const launch_site& site, const keys::codec_of<K>& codec, unsigned value_bytes,
                                const partition_step& step) {
  SPANSORT_ASSERT(!step.begins_argsort && step.recoding == key_recoding::none);
  with_value(value_bytes, [&]<class V>() {
    const auto run = [&](const auto& order) { run_partition_step<max_published_bits, K, V>(site, order, step); };
    if constexpr (sizeof(K) == 8) {
      if (step.spread.table != nullptr) {
        return with_order<K>(
            codec, [&](const auto& plain) { with_spread<K>(plain, step.spread, run); }, step.any_folded);
      }
    }
    with_plain_order<K>(codec, run, step.any_folded);
  });
}

template <class K>
std::uint64_t num_wide_partition_tiles(const launch_site& site, unsigned value_bytes, std::uint64_t num_keys) {
  return with_value(value_bytes,
                    [&]<class V>() { return tile_sizes_at<max_published_bits, K, V>(site).num_tiles(num_keys); });
}

template <class K>
void launch_wide_bucket_targets(const launch_site& site, unsigned value_bytes,
                                const std::vector<keys::digit_position>& digits, records source, records alternate) {
  run_bucket_targets<max_published_bits, K>(site, value_bytes, digits, source, alternate);
}

void launch_wide_unordered_step(const launch_site& site, const keys::codec_of<std::uint64_t>& codec,
                                unsigned value_bytes, const partition_step& step) {
  SPANSORT_ASSERT(has_unordered_partition(codec, value_bytes) && step.spread.table == nullptr &&
                  step.recoding == key_recoding::none);
  if (codec.is_identity()) {
    return run_unordered_step<max_unordered_bits, std::uint64_t>(site, identity_order<std::uint64_t>(codec), step);
  }
  run_unordered_step<max_unordered_bits, std::uint64_t>(site, encoded_order<std::uint64_t>(codec), step);
}

void launch_wide_unordered_targets(const launch_site& site, unsigned value_bytes,
                                   const std::vector<keys::digit_position>& digits, records from, records to) {
  SPANSORT_ASSERT(value_bytes == 0);
  run_bucket_targets<max_unordered_bits, std::uint64_t, no_value>(site, digits, from, to);
}

#define SPANSORT_INSTANTIATE_WIDE_PARTITION(K)                                                                        \
  template void launch_wide_partition_step<K>(const launch_site&, const keys::codec_of<K>&, unsigned,                 \
                                              const partition_step&);                                                 \
  template std::uint64_t num_wide_partition_tiles<K>(const launch_site&, unsigned, std::uint64_t);                    \
  template void launch_wide_bucket_targets<K>(const launch_site&, unsigned, const std::vector<keys::digit_position>&, \
                                              records, records)

SPANSORT_INSTANTIATE_WIDE_PARTITION(std::uint8_t);
SPANSORT_INSTANTIATE_WIDE_PARTITION(std::uint16_t);
SPANSORT_INSTANTIATE_WIDE_PARTITION(std::uint32_t);
SPANSORT_INSTANTIATE_WIDE_PARTITION(std::uint64_t);

}  // namespace spansort::device::cuda
