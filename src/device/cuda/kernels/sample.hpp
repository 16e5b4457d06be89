// SPDX-License-Identifier: Apache-2.0
// The kernels below bracket_ranks: gather a sample, see how far it can be trusted, pick keys from it.
#pragma once

#include "device/cuda/kernels/request.hpp"
#include "device/rank_sampler.hpp"

namespace spansort::device::cuda {

/// A sample in device memory: encoded keys.
template <class K>
struct sample_memory {
  K* as_taken = nullptr;  ///< run after run
  K* sorted = nullptr;
  K* spare = nullptr;                       ///< for the sort
  unsigned long long* deviation = nullptr;  ///< [most_places]: sums of squares
  rank_bracket* brackets = nullptr;         ///< [most_places]

  /// Lays the sample out in `memory`, aligned to 256 bytes, of which size_bytes are taken.
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

/// Takes the sample, twice: as it is, and to be sorted.
template <class K>
void launch_gather_sample(const launch_site& site, const keys::codec_of<K>& codec, const bracket_request& request,
                          const sample_memory<K>& sample);

/// Fills sample.brackets; sample.sorted is sorted by now.
template <class K>
void launch_pick_brackets(const launch_site& site, const bracket_request& request, const sample_memory<K>& sample);

}  // namespace spansort::device::cuda
