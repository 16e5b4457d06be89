// SPDX-License-Identifier: Apache-2.0
// The reference: std::stable_sort with comparators written from the promise in types.hpp, on keys turned into native
// integers and doubles. It shares no code with src/keys, so that a wrong encoding shows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "spansort/types.hpp"

namespace spansort::test {

/// Returns whether key `a` comes before key `b` in value: floats as numbers, NaN last whatever its sign. Both point at
/// one key.
[[nodiscard]] bool precedes_in_value(key_type type, bool descending, const void* a, const void* b);
/// Returns whether key `a` comes before key `b` where bits decide ties: the order of keys alone.
[[nodiscard]] bool precedes_in_bits(key_type type, bool descending, const void* a, const void* b);

/// Returns the double next to the key at `at`; a NaN for every NaN.
[[nodiscard]] double number_of(key_type type, const void* at);

class oracle {
 public:
  /// Copies the keys, then sorts the copy.
  oracle(const_key_span input, bool descending);

  [[nodiscard]] key_type type() const { return type_; }
  [[nodiscard]] bool descending() const { return descending_; }
  [[nodiscard]] std::uint64_t num_keys() const { return order_.size(); }
  [[nodiscard]] std::span<const std::byte> input() const { return input_; }
  /// order()[i] is the index of the input's key that comes i-th, ties in input order: pairs and argsort.
  [[nodiscard]] const std::vector<std::uint64_t>& order() const { return order_; }
  [[nodiscard]] std::span<const std::byte> keys_of_pairs() const { return stable_keys_; }
  /// Keys alone: ties by bits.
  [[nodiscard]] std::span<const std::byte> keys_alone() const { return sorted_keys_; }

 private:
  key_type type_;
  bool descending_;
  std::vector<std::byte> input_;
  std::vector<std::uint64_t> order_;
  std::vector<std::byte> stable_keys_;
  std::vector<std::byte> sorted_keys_;
};

/// The value that travels with the key at `index` of the input: the index, then bytes that depend on it.
void write_value(std::byte* value, std::uint64_t value_bytes, std::uint64_t index);
/// One value for each entry of `order`.
[[nodiscard]] std::vector<std::byte> values_in_order(std::span<const std::uint64_t> order, std::uint64_t value_bytes);
/// Values of an unsorted input.
[[nodiscard]] std::vector<std::byte> input_values(std::uint64_t num_keys, std::uint64_t value_bytes);

/// "" when both hold the same bytes; otherwise the first element that differs, as hexadecimal numbers.
[[nodiscard]] std::string diagnose_bytes(std::string_view what, std::span<const std::byte> expected,
                                         std::span<const std::byte> actual, std::uint64_t element_bytes);

}  // namespace spansort::test
