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
/// inputs that have many copies 4 % already here, and would cost them more than 10 % there. More than 2^29 keys take
/// digits of 9 bits, which wins, too: on an H100 28.2 and 55.8 for 10^9 u64, 33.7 where each comes four times. Where
/// each comes 16 times buckets lose (62.8 and 54.7), so that the larger sample has to notice that. Beyond 2^31 keys two
/// such digits leave too much, and with values, for which blocks have less room, some buckets are too large from
/// 2 * 10^9 records on. Wider values were not measured.
inline constexpr std::uint64_t least_bucket_sort_bytes = std::uint64_t{1} << 26;
inline constexpr std::uint64_t most_bucket_sort_keys = std::uint64_t{1} << 31;
inline constexpr unsigned most_bucket_value_bytes = 8;
/// The first pass of an argsort makes the positions, which passes over wider digits cannot.
inline constexpr std::uint64_t most_bucket_argsort_keys = std::uint64_t{1} << 29;

/// A sample's keys, and the counters into which its bins fall.
inline constexpr unsigned even_keys_bucket_bits = 16;
struct even_keys_sizes {
  std::uint32_t samples = 0;  ///< whole warps
  unsigned bin_bits = 0;
};
inline constexpr even_keys_sizes even_keys_sizes_of_many{1U << 17, 22};

/// Fewer counters are cleared sooner: 4 MiB instead of 16. Of the most keys copies are found only in a large sample.
[[nodiscard]] constexpr even_keys_sizes even_keys_sizes_of(std::uint64_t num_keys) noexcept {
  constexpr std::uint64_t many = std::uint64_t{1} << 25;
  constexpr std::uint64_t most = std::uint64_t{1} << 29;
  if (num_keys > most) return {1U << 19, even_keys_sizes_of_many.bin_bits};
  if (num_keys >= many) return even_keys_sizes_of_many;
  return {static_cast<std::uint32_t>(num_keys < 1U << 15 ? num_keys / 32 * 32 : 1U << 15), 20};
}

/// Keys of 4 bytes are looked at for their values, of which many more than keys in the sample fit in a counter.
[[nodiscard]] constexpr even_keys_sizes counted_keys_sizes_of(std::uint64_t num_keys) noexcept {
  constexpr std::uint32_t most = 1U << 17;
  return {num_keys < most ? static_cast<std::uint32_t>(num_keys / 32 * 32) : most, 20};
}

/// Returns whether keys have few enough copies for buckets: four on average are let pass (up to eight just below 2^25
/// keys, of which the sample is small, and up to ten above 2^29). `same_bin` are the pairs of sampled keys that are
/// alike, or seem to by their counter.
[[nodiscard]] constexpr bool have_few_copies(std::uint64_t num_keys, std::uint64_t same_bin) noexcept {
  const even_keys_sizes sizes = even_keys_sizes_of(num_keys);
  const std::uint64_t pairs = std::uint64_t{sizes.samples} * (sizes.samples - 1) / 2;
  const std::uint64_t by_chance_in_counter = pairs >> sizes.bin_bits;
  constexpr std::uint64_t deviations = 50;
  const std::uint64_t part_by_counter = sizes.samples > even_keys_sizes_of_many.samples ? 40 : 20;
  return same_bin <=
         by_chance_in_counter + by_chance_in_counter / part_by_counter + 4 * (pairs / num_keys) + deviations;
}

/// Returns whether keys that are not even are worth a second look, for a spread (kernels/key_spread.hpp): unless they
/// have many copies. The first look counts these in fewer counters than have_few_copies() wants: `coarse_same_key` are
/// the pairs of sampled keys of 8 bytes that are alike, or seem to by one of 2^even_keys_bucket_bits counters. Twelve
/// copies of 2^22 keys are let pass, and 75 of 2^28. Measured on an H200, us without and with that look, in one run:
/// 2^22 f64(u64) of [0, 1) 570 and 506, 2^23 947 and 704, 2^24 1,628 and 1,127; 2^22 u64(u64) below 2^40 525 and 377,
/// 2^23 873 and 554; 2^23 f64 of [0, 1) 564 and 534, 2^24 971 and 811; 2^23 u64 below 2^40 530 and 415; the order of
/// 2^23 f64 738 and 617. In vain it takes some 55 us: 2^22 u64(u64) of the AND of two words 577 and 636, 2^23 966 and
/// 1,020, 2^23 u64 593 and 643.
[[nodiscard]] constexpr bool is_worth_second_look(std::uint64_t num_keys, std::uint64_t coarse_same_key) noexcept {
  const std::uint64_t samples = even_keys_sizes_of(num_keys).samples;
  const std::uint64_t pairs = samples * (samples - 1) / 2;
  const std::uint64_t by_chance_in_counter = pairs >> even_keys_bucket_bits;
  const std::uint64_t deviations = 50 + samples / 64;  // of chance, one of which is a 362nd of the samples
  return coarse_same_key <= by_chance_in_counter + 8 * (pairs / num_keys) + deviations;
}

/// Returns whether a sample is of keys that buckets sort faster. `same_bucket` and `same_bin` are pairs of sampled keys
/// that agree in the digits of two levels, and in as many bits as number all keys, or seem to by their counter.
/// Chance gives uniform keys pairs, too, and a counter more of them; beyond that a fifth more in a bucket is let pass,
/// and as many keys a bin as copies.
[[nodiscard]] constexpr bool are_even(std::uint64_t num_keys, std::uint64_t same_bucket,
                                      std::uint64_t same_bin) noexcept {
  const std::uint64_t samples = even_keys_sizes_of(num_keys).samples;
  const std::uint64_t by_chance_in_bucket = samples * (samples - 1) / 2 >> even_keys_bucket_bits;
  constexpr std::uint64_t deviations = 50;
  return same_bucket <= by_chance_in_bucket + by_chance_in_bucket / 5 + deviations &&
         have_few_copies(num_keys, same_bin);
}

/// Cells of a spread (kernels/key_spread.hpp): a quarter of an octave each where doubles of all sizes and both signs
/// are spread.
inline constexpr unsigned spread_cell_bits = 14;
/// Equal parts of the range do where pairs of a part are no more than so many tenths of those of chance: the range may
/// be twice as long as that of the keys.
inline constexpr std::uint64_t most_tenths_of_chance = 23;

/// More keys may have buckets that are too large for blocks by digits of 8 bits, and are tried by wider ones.
inline constexpr std::uint64_t least_wider_spread_keys = std::uint64_t{1} << 26;

/// Returns whether a sample is of keys that `num_buckets` of a spread sort faster. Chance makes pairs of keys in a
/// bucket, which are more where buckets are uneven: a key's bucket has as many times more keys then. Blocks finish
/// `most_finished`, which has to be more than that on average. Where it is much more, pairs up to 2.5 times those of
/// chance are let pass: normal floats have 1.2 and the AND of two words has 3.6.
[[nodiscard]] constexpr bool are_spread(std::uint64_t num_keys, std::uint64_t num_buckets, std::uint64_t most_finished,
                                        std::uint64_t same_bucket, std::uint64_t same_key) noexcept {
  const std::uint64_t samples = even_keys_sizes_of(num_keys).samples;
  const std::uint64_t by_chance_in_bucket = samples * (samples - 1) / 2 >> even_keys_bucket_bits;
  constexpr std::uint64_t deviations = 50;
  if (same_bucket > by_chance_in_bucket * 5 / 2 + deviations) return false;
  const std::uint64_t keys_in_bucket = num_keys / num_buckets * same_bucket / (by_chance_in_bucket + 1);
  return keys_in_bucket <= most_finished - most_finished / 16 && have_few_copies(num_keys, same_key);
}

/// Passes over the high half and a count of the low one are faster from so many records with keys of 4 bytes on.
/// Measured on an H100 with uniform keys, times as fast as CUB's sort with the look at the keys and by passes: u32 of
/// 2^26 0.98 and 1.19, 2^27 1.24 and 1.14, 2^28 1.53 and 1.25, 2^30 1.64 and 1.29; u32(u32) of 2^26 0.99 and 1.03, 2^27
/// 1.29 and 1.10, 2^28 1.33 and 1.06, 2^29 1.25 and 1.07; u32(u64) of 2^27 1.18 and 1.05, 2^29 1.20 and 1.02.
inline constexpr std::uint64_t least_counted_records = std::uint64_t{1} << 27;
/// Nobody has measured more records with values.
inline constexpr std::uint64_t most_counted_with_values = std::uint64_t{1} << 29;

/// Returns whether a sample is of keys that are counted in little time. `same_bucket` and `same_value` are pairs of
/// sampled keys that agree in their high half, or in all bits, or seem to by their counter. Keys alone may be uneven:
/// no bucket has more than 7 % of them, and the value of a key no more than 16 copies on average. Floats of [0, 1) have
/// 11 where they are 2^28; the AND of two words has 78, and buckets that overrun counters of 8 bits. Blocks hold
/// records with values of buckets that are an eighth larger than the average: a deviation of a tenth makes a 96th more
/// pairs. Four copies on average are let pass.
[[nodiscard]] constexpr bool are_countable(std::uint64_t num_keys, bool have_values, std::uint64_t same_bucket,
                                           std::uint64_t same_value) noexcept {
  const even_keys_sizes sizes = counted_keys_sizes_of(num_keys);
  const std::uint64_t pairs = std::uint64_t{sizes.samples} * (sizes.samples - 1) / 2;
  const std::uint64_t by_chance_in_bucket = pairs >> even_keys_bucket_bits;
  const std::uint64_t by_chance_in_counter = pairs >> sizes.bin_bits;
  const std::uint64_t most_in_bucket = have_values ? by_chance_in_bucket + by_chance_in_bucket / 96 : pairs / 200;
  const std::uint64_t most_copies = have_values ? 4 : 16;
  constexpr std::uint64_t deviations = 50;
  return same_bucket <= most_in_bucket + deviations &&
         same_value <= by_chance_in_counter + by_chance_in_counter / 20 + most_copies * (pairs / num_keys) + deviations;
}

}  // namespace spansort::device::cuda
