// SPDX-License-Identifier: Apache-2.0
// The kernels that look into a sample of keys of 4 or 8 bytes, to tell whether they are even enough for a sort by
// buckets or by counts.
#pragma once

#include "device/cuda/kernels/request.hpp"
#include "device/cuda/tuning/even_keys_policy.hpp"

namespace spansort::device::cuda {

/// The look at the keys has seen this.
struct key_evenness {
  unsigned long long same_bucket = 0;  ///< pairs of sampled keys, as are_even() takes them
  unsigned long long same_bin = 0;
  order_action decision = order_action::passes;  ///< the segment's; unless it is passes, no pairs were counted
};

/// This says what keys have to be even for.
enum class even_for : std::uint8_t { buckets, counted_keys, counted_records };

/// Returns whether keys of which a look has seen this are even enough.
[[nodiscard]] constexpr bool are_even_for(even_for purpose, std::uint64_t num_keys, const key_evenness& seen) noexcept {
  if (purpose == even_for::buckets) return are_even(num_keys, seen.same_bucket, seen.same_bin);
  return are_countable(num_keys, purpose == even_for::counted_records, seen.same_bucket, seen.same_bin);
}

/// Pinned memory of the host, to which the GPU writes what it has seen. Zeroed before.
struct evenness_mailbox {
  key_evenness seen;
  unsigned is_full = 0;  ///< written last
};

/// A look says what it has seen to the host, or to the device, which takes the way whose word is order_action::passes.
/// Neither is where the segment's decision is something else.
struct evenness_answer {
  evenness_mailbox* mailbox = nullptr;
  order_action* ways = nullptr;  ///< [2], device memory: passes over all digits, and the other way
  even_for purpose = even_for::buckets;
};

/// The pairs are added up here; all is zeroed before.
struct evenness_sums {
  unsigned long long same_bucket = 0;
  unsigned long long same_bin = 0;
  unsigned num_done = 0;  ///< blocks that have added theirs
};

/// Device memory of one look.
struct evenness_memory {
  evenness_sums* sums = nullptr;
  std::uint32_t* buckets = nullptr;  ///< a counter for each value of the first two digits
  std::uint32_t* bins = nullptr;     ///< counters that bins share

  static constexpr std::uint64_t sums_bytes = 256;
  static constexpr std::uint64_t buckets_bytes = std::uint64_t{4} << even_keys_bucket_bits;
  [[nodiscard]] static constexpr std::uint64_t size_bytes(const even_keys_sizes& sizes) noexcept {
    return sums_bytes + buckets_bytes + (std::uint64_t{4} << sizes.bin_bits);
  }

  [[nodiscard]] static evenness_memory in(void* memory) noexcept {
    auto* const at = static_cast<char*>(memory);
    return {reinterpret_cast<evenness_sums*>(at), reinterpret_cast<std::uint32_t*>(at + sums_bytes),
            reinterpret_cast<std::uint32_t*>(at + sums_bytes + buckets_bytes)};
  }
};

/// Clears the memory, looks at a sample and answers. Keys are of the same bin that agree above `bin_shift` bits.
/// `decision` is that of the segment, in device memory. The host waits for nothing. For K of 4 and 8 bytes.
template <class K>
void launch_evenness(const launch_site& site, const keys::codec_of<K>& codec, const void* keys, std::uint64_t num_keys,
                     const even_keys_sizes& sizes, unsigned bin_shift, const order_action* decision,
                     const evenness_memory& memory, const evenness_answer& answer);

}  // namespace spansort::device::cuda
