// SPDX-License-Identifier: Apache-2.0
// Keys that the caller says are in order: order ranks are positions, and bounds are found by halving. Where the caller
// is wrong the answers are wrong too, but nothing outside of the keys is read.
#pragma once

#include <functional>

#include "statistics/ordered_keys.hpp"

namespace spansort::statistics {

/// What is known of sorted keys, wherever they lie.
struct sorted_source {
  key_type type = key_type::u64;
  std::uint64_t num_keys = 0;
  bool is_descending = false;  ///< NaN keys are last all the same
  /// Copies keys, as they are, from a position on to host memory.
  std::function<void(std::uint64_t begin, std::uint64_t count, void* to)> read;
  std::function<double()> mean;
};

class sorted_keys final : public ordered_keys {
 public:
  sorted_keys(sorted_source source, bool descending);

  [[nodiscard]] std::uint64_t num_keys() const noexcept override { return source_.num_keys; }
  [[nodiscard]] std::vector<std::uint64_t> bits_at(const std::vector<std::uint64_t>& ranks) const override;
  [[nodiscard]] std::vector<std::uint64_t> count_before(const std::vector<key_bound>& bounds) const override;
  [[nodiscard]] std::vector<std::byte> slice(std::uint64_t begin, std::uint64_t end) const override;
  [[nodiscard]] std::vector<std::uint64_t> first_positions(std::uint64_t count) const override;
  [[nodiscard]] double mean() const override { return source_.mean(); }

 private:
  [[nodiscard]] std::uint64_t bits_at_position(std::uint64_t position) const;
  /// Returns the position of an order rank, and the order rank of a position: numbers and NaN keys are turned round,
  /// each among themselves, where the keys are in the opposite order.
  [[nodiscard]] std::uint64_t turned(std::uint64_t at) const noexcept;
  /// The least of [begin, end) that holds, or end: as long as what follows one that holds, holds.
  template <class Holds>
  [[nodiscard]] static std::uint64_t first_that(std::uint64_t begin, std::uint64_t end, const Holds& holds);

  sorted_source source_;
  bool is_opposite_;
  std::uint64_t num_numbers_;
};

}  // namespace spansort::statistics
