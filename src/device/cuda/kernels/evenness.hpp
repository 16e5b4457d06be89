// SPDX-License-Identifier: Apache-2.0
// The kernel that looks into a sample of 8-byte keys, to tell whether the sort by buckets would have even ones.
#pragma once

#include <algorithm>

#include "device/cuda/kernels/request.hpp"
#include "device/cuda/tuning/even_keys_policy.hpp"

namespace spansort::device::cuda {

/// The look at the keys adds up its pairs here; all is zeroed before.
struct key_evenness {
  unsigned long long same_bucket = 0;  ///< pairs of sampled keys, as are_even() takes them
  unsigned long long same_bin = 0;
  order_action decision = order_action::passes;  ///< the segment's; unless it is passes, no pairs were counted
};

/// Device memory of one look.
struct evenness_memory {
  key_evenness* seen = nullptr;
  std::uint32_t* buckets = nullptr;  ///< a counter for each value of the first two digits
  std::uint32_t* bins = nullptr;     ///< counters that bins share

  static constexpr std::uint64_t seen_bytes = 256;
  static constexpr std::uint64_t buckets_bytes = std::uint64_t{4} << even_keys_bucket_bits;
  static constexpr std::uint64_t bins_bytes = std::uint64_t{4} << even_keys_bin_bits;
  static constexpr std::uint64_t size_bytes = seen_bytes + buckets_bytes + bins_bytes;

  [[nodiscard]] static evenness_memory in(void* memory) noexcept {
    auto* const at = static_cast<char*>(memory);
    return {reinterpret_cast<key_evenness*>(at), reinterpret_cast<std::uint32_t*>(at + seen_bytes),
            reinterpret_cast<std::uint32_t*>(at + seen_bytes + buckets_bytes)};
  }
};

/// Returns how many of so many keys are looked at: whole warps.
[[nodiscard]] constexpr std::uint32_t num_evenness_samples(std::uint64_t num_keys) noexcept {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(num_keys, even_keys_samples) / 32 * 32);
}

/// Clears the memory and looks at a sample. `decision` is that of the segment, in device memory. The host waits for
/// nothing.
void launch_evenness(const launch_site& site, const keys::codec_of<std::uint64_t>& codec, const void* keys,
                     std::uint64_t num_keys, const order_action* decision, const evenness_memory& memory);

}  // namespace spansort::device::cuda
