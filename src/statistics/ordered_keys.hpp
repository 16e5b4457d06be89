// SPDX-License-Identifier: Apache-2.0
// Keys as order statistics look at them: by rank, by value, as numbers. Where they lie, and whether they are in order
// already, is the derived classes' business.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "keys/codec.hpp"
#include "spansort/types.hpp"

namespace spansort::statistics {

/// A position between two keys in key order: before all keys whose encoding is `encoded` or more, or behind all keys.
struct key_bound {
  std::uint64_t encoded = 0;
  bool is_end = false;
};

/// The keys that compare equal to one: -0.0 and +0.0, all NaNs.
struct tie_bounds {
  key_bound begin;
  key_bound end;
};

/// Ranks count from 0 in the order of the codec; equal keys are ordered by bits, NaN keys are last.
class ordered_keys {
 public:
  explicit ordered_keys(key_type type, bool descending) : codec_{type, descending, keys::tie_rule::by_bits} {}
  virtual ~ordered_keys() = default;
  ordered_keys(const ordered_keys&) = delete;
  ordered_keys& operator=(const ordered_keys&) = delete;

  [[nodiscard]] key_type type() const noexcept { return codec_.type; }
  [[nodiscard]] const keys::key_codec& codec() const noexcept { return codec_; }
  [[nodiscard]] unsigned key_bytes() const noexcept { return codec_.width_bytes(); }
  [[nodiscard]] virtual std::uint64_t num_keys() const noexcept = 0;

  // Ascending order alone: where the keys begin that are at least `number`, or more than it. NaN keys are more than
  // any.

  [[nodiscard]] key_bound at_least(double number) const { return find(number, true); }
  [[nodiscard]] key_bound above(double number) const { return find(number, false); }

  /// Returns how many keys are no NaN where this costs nothing to know.
  [[nodiscard]] virtual std::optional<std::uint64_t> num_numbers_if_counted() const { return std::nullopt; }
  /// Returns the bound behind the last number; for integers this is the end.
  [[nodiscard]] key_bound first_nan() const;
  /// `key_bits`: a key as it is.
  [[nodiscard]] tie_bounds ties_of(std::uint64_t key_bits) const;

  /// The keys at `ranks` as numbers.
  [[nodiscard]] std::vector<double> at(const std::vector<std::uint64_t>& ranks) const;
  /// Returns the keys at `ranks` as bits, zeros above.
  [[nodiscard]] virtual std::vector<std::uint64_t> bits_at(const std::vector<std::uint64_t>& ranks) const = 0;
  /// Keys before each bound; the bounds ascend. Of keys that compare equal none is apart.
  [[nodiscard]] virtual std::vector<std::uint64_t> count_before(const std::vector<key_bound>& bounds) const = 0;
  /// The keys of ranks from `begin` up to `end`, in order, as they are.
  [[nodiscard]] virtual std::vector<std::byte> slice(std::uint64_t begin, std::uint64_t end) const = 0;
  /// Returns what slice() does, for a caller who knows the bounds that these keys lie between, and that no others do:
  /// nothing is to be looked for.
  [[nodiscard]] virtual std::vector<std::byte> slice_between(std::uint64_t begin, std::uint64_t end,
                                                             const key_bound& /*from*/, const key_bound& /*to*/) const {
    return slice(begin, end);
  }
  /// Positions in the input of the first `count` keys in order; of equal keys, the earlier first.
  [[nodiscard]] virtual std::vector<std::uint64_t> first_positions(std::uint64_t count) const = 0;
  /// Returns the mean of the keys that are not NaN, as statistics/mean.hpp has it.
  [[nodiscard]] virtual double mean() const = 0;

 protected:
  /// Encodes a key's bits; decode() is the inverse.
  [[nodiscard]] std::uint64_t encode(std::uint64_t key_bits) const;
  [[nodiscard]] std::uint64_t decode(std::uint64_t encoded) const;

 private:
  /// The first bound whose keys are at least `number`, or more than it.
  [[nodiscard]] key_bound find(double number, bool or_equal) const;

  keys::key_codec codec_;
};

/// Bits of the key at `index` of an array, zeros above.
[[nodiscard]] std::uint64_t bits_of_key(const void* keys, std::uint64_t index, unsigned key_bytes) noexcept;

}  // namespace spansort::statistics
