// SPDX-License-Identifier: Apache-2.0
// Bounds say where the segments of an array begin and end: offsets in memory, or rows that all have the same length.
#pragma once

#include <cstdint>

namespace spansort::device {

/// Segment i holds the keys from at(i) up to at(i + 1). Offsets are the caller's and outlive this.
class segment_bounds {
 public:
  segment_bounds(const std::uint32_t* offsets, std::uint64_t num_segments) noexcept
      : narrow_(offsets), num_segments_(num_segments) {}
  segment_bounds(const std::uint64_t* offsets, std::uint64_t num_segments) noexcept
      : wide_(offsets), num_segments_(num_segments) {}

  [[nodiscard]] static segment_bounds of_rows(std::uint64_t row_length, std::uint64_t num_rows) noexcept {
    segment_bounds rows(static_cast<const std::uint64_t*>(nullptr), num_rows);
    rows.row_length_ = row_length;
    return rows;
  }

  [[nodiscard]] std::uint64_t num_segments() const noexcept { return num_segments_; }

  /// `boundary` is at most num_segments().
  [[nodiscard]] std::uint64_t at(std::uint64_t boundary) const noexcept {
    if (wide_ != nullptr) return wide_[boundary];
    return narrow_ != nullptr ? narrow_[boundary] : boundary * row_length_;
  }

 private:
  const std::uint32_t* narrow_ = nullptr;
  const std::uint64_t* wide_ = nullptr;
  std::uint64_t num_segments_ = 0;
  std::uint64_t row_length_ = 0;
};

/// Neighbouring segments, from `first` up to `last`.
struct segment_range {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
};

}  // namespace spansort::device
