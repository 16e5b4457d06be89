// SPDX-License-Identifier: Apache-2.0
// An input lies in host memory, with the arrays in which contenders take turns to sort it, and what they leave is
// checked against it.
#pragma once

#include <cstdint>
#include <memory>
#include <spansort/check.hpp>
#include <spansort/types.hpp>

#include "bench/suites/figures.hpp"

namespace bench {

/// Memory and how it is given back.
using host_memory = std::unique_ptr<void, void (*)(void*)>;

class input {
 public:
  /// `pinned`: the arrays that are sorted are pinned for copies to GPUs. Values are the positions of their keys.
  input(const case_spec& spec, std::uint64_t seed, bool pinned);

  [[nodiscard]] spansort::key_type type() const { return type_; }
  [[nodiscard]] std::uint64_t num_keys() const { return num_keys_; }
  [[nodiscard]] std::uint64_t key_bytes() const { return spansort::size_bytes(type_); }
  [[nodiscard]] std::uint64_t value_bytes() const { return value_bytes_; }
  [[nodiscard]] std::uint64_t size_bytes() const { return num_keys_ * (key_bytes() + value_bytes_); }

  /// Keys, and behind them the values: as generated, and as a contender leaves them.
  [[nodiscard]] const void* original() const { return original_.get(); }
  [[nodiscard]] void* work() { return work_.get(); }
  /// Returns the address of the values in `array`, null where none travel.
  [[nodiscard]] void* values_in(void* array) const;

  void restore();
  /// Returns whether the work arrays are in order and hold the records of the input.
  [[nodiscard]] bool holds_result() const;

 private:
  [[nodiscard]] spansort::multiset_checksum checksum_of(const void* array) const;

  spansort::key_type type_;
  std::uint64_t num_keys_;
  std::uint64_t value_bytes_;
  host_memory original_;
  host_memory work_;
  spansort::multiset_checksum checksum_;
};

/// "u32(u64)": bytes of the value, 0 where there is none.
[[nodiscard]] std::uint64_t value_bytes_of(const std::string& type);
[[nodiscard]] std::uint64_t record_bytes_of(const std::string& type);

}  // namespace bench
