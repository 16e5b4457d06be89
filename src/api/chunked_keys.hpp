// SPDX-License-Identifier: Apache-2.0
// Keys of the caller in chunks over host devices, as order statistics look at them: as numbers, by rank and by value.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "algorithms/rank.hpp"
#include "keys/codec.hpp"
#include "spansort/types.hpp"
#include "statistics/select.hpp"

namespace spansort::api {

/// A place between two keys in key order: before all keys whose encoding is `encoded` or more, or behind all keys.
struct key_border {
  std::uint64_t encoded = 0;
  bool is_end = false;
};

class chunked_keys {
 public:
  /// `devices`: a device list of CPUs. Throws invalid_argument for any other.
  chunked_keys(const_key_span keys, const std::string& devices);

  [[nodiscard]] std::uint64_t num_keys() const noexcept { return keys_.num_keys; }
  /// Where the keys begin that are at least `number`, or more than it. NaN keys are more than any.
  [[nodiscard]] key_border at_least(double number) const;
  [[nodiscard]] key_border above(double number) const;
  /// Behind +inf; the end for integers.
  [[nodiscard]] key_border first_nan() const;

  // Each reads the keys about once.

  /// The keys at `ranks`, from 0 in ascending order, as numbers.
  [[nodiscard]] std::vector<double> at(const std::vector<std::uint64_t>& ranks) const;
  /// Keys before each border; the borders ascend.
  [[nodiscard]] std::vector<std::uint64_t> count_before(const std::vector<key_border>& borders) const;
  /// The keys from one border up to another as numbers, in any order; there are at most `most`.
  [[nodiscard]] std::vector<double> between(key_border from, key_border to, std::uint64_t most) const;

 private:
  /// The first border whose keys are at least `number`, or more than it.
  [[nodiscard]] key_border find(double number, bool or_equal) const;
  [[nodiscard]] double value_of(std::uint64_t encoded) const;

  const_key_span keys_;
  keys::key_codec codec_;
  std::vector<algorithms::rank> ranks_;
  std::vector<statistics::key_chunk> chunks_;
};

}  // namespace spansort::api
