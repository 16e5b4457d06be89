// SPDX-License-Identifier: Apache-2.0
// Segments of keys of 4 and 8 bytes, which are buckets of an earlier partition, may go by buckets themselves: by passes
// over one or two high digits and a finish on chip, in the place of passes over all their digits. These are the sizes
// from which on they do, and the bounds on how uneven they may be.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "device/cuda/tuning/workspace_sizes.hpp"

namespace spansort::device::cuda {

/// The high digits by which records are brought in order before their buckets are finished.
struct bucket_digits {
  unsigned num_digits = 0;  ///< 0: the records do not go by buckets
  unsigned digit_bits = 0;

  [[nodiscard]] constexpr unsigned bits() const noexcept { return num_digits * digit_bits; }
  friend constexpr bool operator==(const bucket_digits&, const bucket_digits&) = default;
};

/// The largest buckets that blocks finish have so many records: at the best rate, and at all.
struct finished_records {
  std::uint64_t best = 0;
  std::uint64_t most = 0;
};

/// Returns the digits that leave even records in buckets of which a block finishes each: one digit of 8 bits or of
/// `wide_bits` where it can be, with buckets of the best size rather than with larger ones, and else two. Buckets are
/// let have 15 sixteenths of the room on average, for a sixteenth is six deviations of their sizes at the least. Two
/// digits of 9 bits have to do for more records.
[[nodiscard]] constexpr bucket_digits bucket_digits_of(std::uint64_t num_records, const finished_records& finished,
                                                       unsigned wide_bits, unsigned least_digits = 1) noexcept {
  const auto leave = [num_records](const bucket_digits& digits, std::uint64_t room) {
    return num_records >> digits.bits() < room - room / 16;
  };
  if (least_digits == 1) {
    for (const std::uint64_t room : {finished.best, finished.most}) {
      for (const unsigned bits : {max_partition_bits, wide_bits}) {
        if (leave({1, bits}, room)) return {1, bits};
      }
    }
  }
  return leave({2, max_partition_bits}, finished.most) ? bucket_digits{2, max_partition_bits}
                                                       : bucket_digits{2, max_published_bits};
}

/// Segments of so many keys are looked at: of 8 bytes and pairs of 4, and of 4 alone. Smaller ones are fused with their
/// neighbours up to 2^21 keys. Measured on two H200, ms by passes and with looks: u64 8.1 and 6.4 for 2.5 * 10^8,
/// u32(u32) 9.8 and 9.6 for 5 * 10^8, u32 10.1 and 9.1 for 10^9 (segments of 3.9 * 10^6), but 6.9 and 7.5 for 5 * 10^8.
inline constexpr std::uint64_t least_bucket_segment = std::uint64_t{1} << 20;
inline constexpr std::uint64_t least_counted_segment = std::uint64_t{3} << 20;
/// Segments whose keys agree in fewer bits are three or more buckets of RMG sort that were fused, or buckets by few
/// bits. Fused ones mostly leave a part of their range empty, which makes them uneven: u64 of 1.25 * 10^8 took 4.9 by
/// passes and 5.2.
inline constexpr unsigned least_agreeing_bits = 7;

/// One launch looks at so many segments, by a block each.
inline constexpr unsigned most_segments_of_a_look = 32;
inline constexpr unsigned looked_samples = 8192;
/// Sampled keys are counted by so many of their bits at most, which take 64 KiB of shared memory.
inline constexpr unsigned looked_counter_bits = 15;
/// Twice as many places as keys are sampled, with a counter each, take 96 KiB.
inline constexpr unsigned looked_place_bits = 14;

/// What was seen of a segment. `unknown` is what a mailbox has before.
enum class segment_evenness : std::uint32_t { unknown, uneven, even_by_two_digits, even_by_one_digit };

/// This says what a sample's keys have in common.
struct sampled_likeness {
  std::uint64_t same_digit = 0;   ///< pairs that agree in the only digit
  std::uint64_t same_bucket = 0;  ///< pairs that agree in the highest looked_counter_bits bits that may differ
  /// Pairs that agree in all bits, of keys of 8 bytes in as many as number all keys.
  std::uint64_t same_key = 0;
  std::uint64_t largest_digit = 0;  ///< keys of the digit's most frequent value
};

/// Returns whether a sample has no more pairs of the same key than where each key has so many copies. A key of which
/// there are many more than of others makes more.
[[nodiscard]] constexpr bool has_few_copies(std::uint64_t num_keys, unsigned copies, std::uint64_t same_key) noexcept {
  constexpr std::uint64_t pairs = std::uint64_t{looked_samples} * (looked_samples - 1) / 2;
  constexpr std::uint64_t by_chance = 16;  // five deviations where ten are expected
  return same_key <= copies * (pairs / num_keys) + by_chance;
}

/// Returns what it means that a sample is so much alike. Chance makes pairs of even keys, too. By one digit buckets
/// have to fit a block: where it has room for twice their average, an eighth more pairs are let pass, which is a
/// deviation of 35 % from that average, and else a 48th, which is one of 14 % and four deviations of what chance makes.
/// By two digits buckets are small on average, and twice as many pairs are let pass. Four copies of each key are, too.
[[nodiscard]] constexpr segment_evenness evenness_of_segment(std::uint64_t num_keys, unsigned digit_bits,
                                                             std::uint64_t most_finished,
                                                             const sampled_likeness& seen) noexcept {
  constexpr std::uint64_t pairs = std::uint64_t{looked_samples} * (looked_samples - 1) / 2;
  constexpr std::uint64_t by_chance = pairs >> looked_counter_bits;
  const std::uint64_t of_one_key = pairs / num_keys;  // sampled more than once
  if (!has_few_copies(num_keys, 4, seen.same_key)) return segment_evenness::uneven;
  if (seen.same_bucket > 2 * (by_chance + of_one_key)) return segment_evenness::uneven;
  if (digit_bits == 0) return segment_evenness::even_by_two_digits;
  const std::uint64_t by_chance_in_digit = (pairs >> digit_bits) + of_one_key;
  const bool has_room = 2 * (num_keys >> digit_bits) <= most_finished;
  return seen.same_digit <= by_chance_in_digit + by_chance_in_digit / (has_room ? 8 : 48)
             ? segment_evenness::even_by_one_digit
             : segment_evenness::even_by_two_digits;
}

/// Returns whether keys of 4 bytes alone are counted in little time behind a pass over one digit: no bucket has more
/// than a 64th of them, and a key has no more than 16 copies on average.
[[nodiscard]] constexpr bool is_countable_segment(std::uint64_t num_keys, const sampled_likeness& seen) noexcept {
  constexpr std::uint64_t most_in_digit = looked_samples / 64;
  constexpr std::uint64_t deviations = 5 * 11;
  return seen.largest_digit <= most_in_digit + deviations && has_few_copies(num_keys, 16, seen.same_key);
}

}  // namespace spansort::device::cuda
