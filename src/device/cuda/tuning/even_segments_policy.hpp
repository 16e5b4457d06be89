// SPDX-License-Identifier: Apache-2.0
// From where on segments of keys of 8 bytes, which are buckets of an earlier partition, go by buckets themselves: by
// passes over one or two high digits and a finish on chip, in the place of passes over all their digits.
#pragma once

#include <cstdint>

#include "device/cuda/tuning/workspace_sizes.hpp"

namespace spansort::device::cuda {

/// The high digits by which records are brought in order before their buckets are finished.
struct bucket_digits {
  unsigned num_digits = 0;  ///< 0: the records do not go by buckets
  unsigned digit_bits = 0;

  [[nodiscard]] constexpr unsigned bits() const noexcept { return num_digits * digit_bits; }
  friend constexpr bool operator==(const bucket_digits&, const bucket_digits&) = default;
};

/// Returns the fewest and narrowest digits that leave even records in buckets of which a block finishes each, if it
/// finishes up to `most_finished` records: a sixteenth of these is six deviations of a bucket's size. Two digits of 9
/// bits have to do for more records than that.
[[nodiscard]] constexpr bucket_digits bucket_digits_of(std::uint64_t num_records, std::uint64_t most_finished,
                                                       unsigned least_digits = 1) noexcept {
  const std::uint64_t most = most_finished - most_finished / 16;
  for (unsigned num_digits = least_digits; num_digits <= 2; ++num_digits) {
    for (unsigned digit_bits = max_partition_bits; digit_bits <= max_published_bits; ++digit_bits) {
      if (num_records >> (num_digits * digit_bits) < most) return {num_digits, digit_bits};
    }
  }
  return {2, max_published_bits};
}

/// Segments of so many keys are looked at. Not measured.
inline constexpr std::uint64_t least_bucket_segment = std::uint64_t{1} << 18;

/// One launch looks at so many segments, by a block each.
inline constexpr unsigned most_segments_of_a_look = 32;
inline constexpr unsigned looked_samples = 8192;
/// Sampled keys are counted by so many of their bits at most, which is what shared memory of 64 KiB has counters for.
inline constexpr unsigned looked_counter_bits = 15;

/// What was seen of a segment. `unknown` is what a mailbox has before.
enum class segment_evenness : std::uint32_t { unknown, uneven, even_by_two_digits, even_by_one_digit };

/// Returns what it means that of the sample's pairs so many agree in the only digit, in the highest looked_counter_bits
/// bits that may differ, and, or so it seems by their counter, in as many bits as number all keys. Chance makes pairs
/// of even keys, too. By one digit each bucket has to fit a block, so that not more than 12 % of deviation from the
/// average size are let pass, which make a 64th more pairs and are four deviations of what chance makes; by two
/// digits buckets are small on average, and twice as many pairs are let pass. Some 24 copies of each key on average are
/// taken for none.
[[nodiscard]] constexpr segment_evenness evenness_of_segment(std::uint64_t num_keys, unsigned digit_bits,
                                                             std::uint64_t same_digit, std::uint64_t same_bucket,
                                                             std::uint64_t same_bin) noexcept {
  constexpr std::uint64_t pairs = std::uint64_t{looked_samples} * (looked_samples - 1) / 2;
  constexpr std::uint64_t by_chance = pairs >> looked_counter_bits;
  constexpr std::uint64_t deviation = 32;
  static_assert(deviation * deviation >= by_chance);
  if (same_bin > by_chance + 6 * deviation + 4 * (pairs / num_keys)) return segment_evenness::uneven;
  if (same_bucket > 2 * by_chance) return segment_evenness::uneven;
  const std::uint64_t by_chance_in_digit = digit_bits == 0 ? 0 : pairs >> digit_bits;
  const bool fits = digit_bits != 0 && same_digit <= by_chance_in_digit + by_chance_in_digit / 64;
  return fits ? segment_evenness::even_by_one_digit : segment_evenness::even_by_two_digits;
}

}  // namespace spansort::device::cuda
