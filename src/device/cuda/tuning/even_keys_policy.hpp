// SPDX-License-Identifier: Apache-2.0
// These sizes say where a device's own local sort goes by buckets, from the highest digit down, in the place of passes
// from the lowest one up, and how even a sample of the keys has to be for that.
#pragma once

#include <cstdint>

namespace spansort::device::cuda {

/// Buckets win where records weigh this much. Measured on an H200 with uniform keys, ms by buckets with the look at
/// the keys and by passes: 2.49 and 3.38 for 2^26 u64, 1.14 and 1.70 for 2^24 u64(u64), 7.64 and 13.1 for 2^28 u64,
/// 16.0 and 26.0 for 2^29; on an H100 0.497 and 0.611 for 2^23 u64, 0.447 and 0.610 for 2^22 u64(u64), 0.513 and 0.725
/// for 2^22 f64(u64). A quarter of it wins, too (0.154 and 0.219 for 2^20 f64(u64)), but the look, some 20 us, costs
/// inputs that are not even 4 % already here, and would cost them more than 10 % there. Of
/// 2^30 keys buckets need a third level, which loses where values come in many copies (68.5 and 52.3 for 16 of each).
/// Wider values were not measured.
inline constexpr std::uint64_t least_bucket_sort_bytes = std::uint64_t{1} << 26;
inline constexpr std::uint64_t most_bucket_sort_keys = std::uint64_t{1} << 29;
inline constexpr unsigned most_bucket_value_bytes = 8;

/// A sample's keys, and the counters into which its bins fall.
inline constexpr unsigned even_keys_bucket_bits = 16;
struct even_keys_sizes {
  std::uint32_t samples = 0;  ///< whole warps
  unsigned bin_bits = 0;
};
inline constexpr even_keys_sizes largest_even_keys_sizes{1U << 17, 22};

/// Fewer counters are cleared sooner: 4 MiB instead of 16.
[[nodiscard]] constexpr even_keys_sizes even_keys_sizes_of(std::uint64_t num_keys) noexcept {
  constexpr std::uint64_t many = std::uint64_t{1} << 25;
  if (num_keys >= many) return largest_even_keys_sizes;
  return {static_cast<std::uint32_t>(num_keys < 1U << 15 ? num_keys / 32 * 32 : 1U << 15), 20};
}

/// Returns whether a sample is of keys that buckets sort faster. `same_bucket` and `same_bin` are pairs of sampled keys
/// that agree in the digits of two levels, and in as many bits as number all keys, or seem to by their counter.
/// Chance gives uniform keys pairs, too, and a counter more of them; beyond that a fifth more in a bucket is let pass,
/// and four keys a bin (up to eight just below 2^25 keys, of which the sample is small).
[[nodiscard]] constexpr bool are_even(std::uint64_t num_keys, std::uint64_t same_bucket,
                                      std::uint64_t same_bin) noexcept {
  const even_keys_sizes sizes = even_keys_sizes_of(num_keys);
  const std::uint64_t pairs = std::uint64_t{sizes.samples} * (sizes.samples - 1) / 2;
  const std::uint64_t by_chance_in_bucket = pairs >> even_keys_bucket_bits;
  const std::uint64_t by_chance_in_counter = pairs >> sizes.bin_bits;
  constexpr std::uint64_t deviations = 50;
  return same_bucket <= by_chance_in_bucket + by_chance_in_bucket / 5 + deviations &&
         same_bin <= by_chance_in_counter + by_chance_in_counter / 20 + 4 * (pairs / num_keys) + deviations;
}

}  // namespace spansort::device::cuda
