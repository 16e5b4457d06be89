// SPDX-License-Identifier: Apache-2.0
// The kernels of bracket_ranks. They gather a sample, see how far it can be trusted, and pick keys from it.
#pragma once

#include "device/cuda/kernels/request.hpp"
#include "device/rank_sampler.hpp"

namespace spansort::device::cuda {

/// A sample of encoded keys in device memory.
template <class K>
struct sample_memory {
  K* as_taken = nullptr;  ///< run after run
  K* sorted = nullptr;
  K* spare = nullptr;                       ///< the alternate of its sort
  unsigned long long* deviation = nullptr;  ///< [most_places]: sums of squares
  rank_bracket* brackets = nullptr;         ///< [most_places]

  /// Lays a sample out in size_bytes of `memory`, which is aligned to 256 bytes.
  [[nodiscard]] static sample_memory in(void* memory) noexcept {
    auto* const at = static_cast<char*>(memory);
    sample_memory m;
    m.as_taken = reinterpret_cast<K*>(at);
    m.sorted = m.as_taken + rank_sampler::most_sampled_keys;
    m.spare = m.sorted + rank_sampler::most_sampled_keys;
    m.deviation = reinterpret_cast<unsigned long long*>(m.spare + rank_sampler::most_sampled_keys);
    m.brackets = reinterpret_cast<rank_bracket*>(m.deviation + rank_sampler::most_places);
    return m;
  }
  static constexpr std::uint64_t size_bytes =
      3 * sizeof(K) * rank_sampler::most_sampled_keys +
      rank_sampler::most_places * (sizeof(unsigned long long) + sizeof(rank_bracket));
};

/// Takes the sample and writes it twice: as it was taken, and where it will be sorted.
template <class K>
void launch_gather_sample(const launch_site& site, const keys::codec_of<K>& codec, const bracket_request& request,
                          const sample_memory<K>& sample);

/// Fills sample.brackets, when sample.sorted is sorted.
template <class K>
void launch_pick_brackets(const launch_site& site, const bracket_request& request, const sample_memory<K>& sample);

}  // namespace spansort::device::cuda
