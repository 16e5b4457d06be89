// SPDX-License-Identifier: Apache-2.0
// The finish of records that are in order by the high bits of their keys: keys that agree in all but their lowest 16
// bits are counted by these, which tells the position of each. So a finish takes the place of two passes, and is one
// read and one write.
#pragma once

#include "device/cuda/kernels/request.hpp"
#include "device/cuda/tuning/counting_finish_policy.hpp"

namespace spansort::device::cuda {

/// Device memory of one finish.
struct counting_finish_memory {
  std::uint32_t* begins = nullptr;    ///< where the keys of each bucket begin, and behind them the number of keys
  std::uint32_t* next_job = nullptr;  ///< buckets that have been taken

  static constexpr std::uint64_t num_words = counted_buckets + 2;
  static constexpr std::uint64_t size_bytes = (4 * num_words + 255) / 256 * 256;

  [[nodiscard]] static counting_finish_memory in(void* memory) noexcept {
    auto* const words = static_cast<std::uint32_t*>(memory);
    return {words, words + counted_buckets + 1};
  }
};

/// A segment's keys are in order by one digit of at most 9 bits, of keys alone 8, above which all of them agree.
struct counted_digit {
  const std::uint64_t* counts = nullptr;  ///< device memory: the keys of each value of the digit
  keys::digit_position digit;             ///< its shift is counted_bits at most
};

/// Keys of 4 bytes, with values of 0, 4 or 8 bytes.
struct counting_finish_request {
  /// They are in order by the highest 16 bits of their encoding, or by a segment's digit; with values, those that agree
  /// in input order. Keys alone that are no segment are held encoded.
  records held;
  records other;            ///< the array that does not hold them
  bool to_other = false;    ///< else the result is where the records were
  bool stores_keys = true;  ///< else values alone are asked for
  unsigned value_bytes = 0;
  std::uint64_t num_keys = 0;     ///< most_counted_records at most
  counting_finish_memory memory;  ///< a segment needs next_job alone, which must be 0
  order_condition when;
  counted_digit segment;  ///< with counts the records are a segment's, whose keys are as they came
};

/// Puts the finish on the site's stream. The codec is that of the keys as they are wanted, and loses nothing. The host
/// waits for nothing.
void launch_counting_finish(const launch_site& site, const keys::codec_of<std::uint32_t>& codec,
                            const counting_finish_request& request);

}  // namespace spansort::device::cuda
