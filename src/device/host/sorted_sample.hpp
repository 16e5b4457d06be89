// SPDX-License-Identifier: Apache-2.0
// Samples of keys. All threads wait for them, so vectors sort them where there are any: std::sort takes 40 us for 1,024
// and 0.5 ms for 8,192, as long as 16 threads take to sort a million.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "device/host/scratch.hpp"
#include "device/host/vector_sort.hpp"
#include "device/host/workers.hpp"

namespace spansort::device::host {

/// Returns up to `num_samples` <= 65536 encoded keys spread over the input, in input order.
template <class K, class Order>
[[nodiscard]] std::vector<K> sample_encoded(const Order& order, const K* keys, std::uint64_t num_keys,
                                            std::uint64_t num_samples) {
  num_samples = std::min(num_keys, num_samples);
  std::vector<K> sample(num_samples);
  for (std::uint64_t i = 0; i < num_samples; ++i) {
    // Integer arithmetic that cannot wrap: i < 65536.
    sample[i] = order.encode(keys[num_keys / num_samples * i + num_keys % num_samples * i / num_samples]);
  }
  return sample;
}

/// Sorts up to 65536 encoded keys, in the scratch of the team's first thread.
template <class K>
void sort_sample(workers& team, std::vector<K>& sample) {
  if constexpr (sizeof(K) >= 4) {
    if (has_vector_sort()) {
      return team.for_each(1, [&](std::uint64_t, worker_scratch& scratch) {
        vector_sort(keys::codec_of<K>(), sample.data(), sample.data(), sample.size(), vector_scratch_in<K>(scratch));
      });
    }
  }
  std::sort(sample.begin(), sample.end());
}

}  // namespace spansort::device::host
