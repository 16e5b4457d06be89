// SPDX-License-Identifier: Apache-2.0
// The kernels that look into a sample of keys of 4 or 8 bytes, to tell whether they are even enough for a sort by
// buckets or by counts.
#pragma once

#include "device/cuda/kernels/key_spread.hpp"
#include "device/cuda/kernels/request.hpp"
#include "device/cuda/tuning/even_keys_policy.hpp"

namespace spansort::device::cuda {

/// The look at the keys has seen this.
struct key_evenness {
  unsigned long long same_bucket = 0;  ///< pairs of sampled keys, as are_even() takes them
  unsigned long long same_bin = 0;
  unsigned long long coarse_same_key = 0;        ///< as is_worth_second_look() takes them
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

/// Pinned memory of the host, to which the GPU writes what the spread that it has made is worth. Zeroed before.
struct spread_mailbox {
  unsigned long long same_bucket = 0;  ///< pairs of sampled keys whose buckets agree in their 16 highest bits
  unsigned long long same_key = 0;     ///< pairs of sampled keys that are alike, or seem to by their counter
  unsigned is_full = 0;                ///< written last
};

/// The pairs are added up here; all is zeroed before.
struct evenness_sums {
  unsigned long long same_bucket = 0;
  unsigned long long same_bin = 0;
  unsigned long long coarse_same_key = 0;
  unsigned long long most = 0;           ///< the greatest sampled key, of 8 bytes
  unsigned long long most_inverted = 0;  ///< the least one's inverse
  unsigned num_done = 0;                 ///< blocks that have added theirs
};

/// A second look, for a spread, adds up its pairs here; all is zeroed before.
struct spread_sums {
  unsigned long long same_part = 0;
  unsigned long long same_key = 0;
  unsigned long long same_bucket = 0;
  unsigned num_done = 0;
};

/// Device memory of one look. A second one, for a spread, goes on in it.
struct evenness_memory {
  evenness_sums* sums = nullptr;
  std::uint32_t* buckets = nullptr;  ///< a counter for each value of the first two digits; for each of as many parts
  std::uint32_t* bins = nullptr;     ///< counters that bins share
  std::uint32_t* keys_or_spread_buckets = nullptr;  ///< as many counters: of keys, then of the buckets of a spread
  std::uint32_t* cell_counts = nullptr;             ///< of a spread
  spread_sums* sums_of_spread = nullptr;
  std::uint64_t* sample = nullptr;  ///< of keys of 8 bytes, encoded

  static constexpr std::uint64_t sums_bytes = 256;
  static constexpr std::uint64_t buckets_bytes = std::uint64_t{4} << even_keys_bucket_bits;
  /// Returns the bytes that a first look clears.
  [[nodiscard]] static constexpr std::uint64_t first_bytes(const even_keys_sizes& sizes, unsigned key_bytes) noexcept {
    return sums_bytes + buckets_bytes + (std::uint64_t{4} << sizes.bin_bits) + (key_bytes == 8 ? buckets_bytes : 0);
  }
  /// Returns the bytes that a second look clears, from `buckets` on.
  [[nodiscard]] static constexpr std::uint64_t second_bytes(const even_keys_sizes& sizes) noexcept {
    return first_bytes(sizes, 8) + sizeof(spread_table::cells);
  }
  [[nodiscard]] static constexpr std::uint64_t size_bytes(const even_keys_sizes& sizes, unsigned key_bytes) noexcept {
    const std::uint64_t of_spread = second_bytes(sizes) - first_bytes(sizes, 8) + sums_bytes;
    return first_bytes(sizes, key_bytes) + (key_bytes == 8 ? of_spread + std::uint64_t{8} * sizes.samples : 0);
  }

  [[nodiscard]] static evenness_memory in(void* memory, const even_keys_sizes& sizes) noexcept {
    auto* at = static_cast<char*>(memory);
    evenness_memory m;
    m.sums = reinterpret_cast<evenness_sums*>(at);
    m.buckets = reinterpret_cast<std::uint32_t*>(at += sums_bytes);
    m.bins = reinterpret_cast<std::uint32_t*>(at += buckets_bytes);
    m.keys_or_spread_buckets = reinterpret_cast<std::uint32_t*>(at += std::uint64_t{4} << sizes.bin_bits);
    m.cell_counts = reinterpret_cast<std::uint32_t*>(at += buckets_bytes);
    m.sums_of_spread = reinterpret_cast<spread_sums*>(at += sizeof(spread_table::cells));
    m.sample = reinterpret_cast<std::uint64_t*>(at + sums_bytes);
    return m;
  }
};

/// A spread that is asked for, of the sample that a look at keys of 8 bytes has left. The host is told of it, or the
/// device, as in evenness_answer. Neither is where there is a decision in device memory that is not passes.
struct spread_request {
  key_spread spread;  ///< of no fewer bits than even_keys_bucket_bits; its table is written
  const order_action* decision = nullptr;
  spread_mailbox* mailbox = nullptr;
  order_action* ways = nullptr;     ///< [2], device memory: passes over all digits, and buckets of the spread
  std::uint64_t num_keys = 0;       ///< these two where the device is told
  std::uint64_t most_finished = 0;  ///< as in are_spread()
};

/// Makes a spread. `memory` is the look's. The host waits for nothing.
void launch_key_spread(const launch_site& site, const even_keys_sizes& sizes, const evenness_memory& memory,
                       const spread_request& request);

/// Clears the memory, looks at a sample and answers. Keys are of the same bin that agree above `bin_shift` bits.
/// `decision` is that of the segment, in device memory. The host waits for nothing. For K of 4 and 8 bytes.
template <class K>
void launch_evenness(const launch_site& site, const keys::codec_of<K>& codec, const void* keys, std::uint64_t num_keys,
                     const even_keys_sizes& sizes, unsigned bin_shift, const order_action* decision,
                     const evenness_memory& memory, const evenness_answer& answer);

}  // namespace spansort::device::cuda
