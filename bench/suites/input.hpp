// SPDX-License-Identifier: Apache-2.0
// An input lies in host memory, with the arrays in which contenders take turns to sort it, and what they leave is
// checked against it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <spansort/check.hpp>
#include <spansort/types.hpp>

#include "bench/suites/figures.hpp"

namespace bench {

/// Memory and how it is given back.
using host_memory = std::unique_ptr<void, void (*)(void*)>;

class resident_arrays;

class input {
 public:
  /// Generates the input of a case, in the memory of the one before where that is enough: fresh memory comes slowly,
  /// pinned memory more so. No contender is at work. `pinned`: the arrays that are sorted are pinned for copies to
  /// GPUs. Values are the positions of their keys.
  void load(const case_spec& spec, std::uint64_t seed, bool pinned);

  [[nodiscard]] spansort::key_type type() const { return type_; }
  [[nodiscard]] std::uint64_t num_keys() const { return num_keys_; }
  [[nodiscard]] std::uint64_t key_bytes() const { return spansort::size_bytes(type_); }
  [[nodiscard]] std::uint64_t value_bytes() const { return value_bytes_; }
  [[nodiscard]] std::uint64_t size_bytes() const { return num_keys_ * (key_bytes() + value_bytes_); }

  /// Keys, and behind them the values: as generated, and as a contender leaves them.
  [[nodiscard]] const void* original() const { return original_.get(); }
  [[nodiscard]] void* work() { return work_.get(); }
  /// Returns the address of the values in the array `of`, null where none travel.
  [[nodiscard]] void* values_in(void* of) const;

  void restore();
  /// Returns whether the work arrays are in order and hold the records of the input.
  [[nodiscard]] bool holds_result() const;

  /// Returns the host memory that is kept for further inputs.
  [[nodiscard]] std::uint64_t held_bytes() const { return original_.size_bytes + work_.size_bytes; }
  /// The copies on GPUs that contenders share, by the GPU's number. Whoever wants one that is missing makes it.
  [[nodiscard]] std::map<int, std::shared_ptr<resident_arrays>>& on_gpus() { return on_gpus_; }

 private:
  struct array {
    host_memory memory{nullptr, nullptr};
    std::uint64_t size_bytes = 0;
    bool is_pinned = false;

    [[nodiscard]] void* get() const { return memory.get(); }
    void grow(std::uint64_t wanted_bytes, bool pinned);
  };
  [[nodiscard]] spansort::multiset_checksum checksum_of(const void* of) const;

  spansort::key_type type_ = spansort::key_type::u32;
  std::uint64_t num_keys_ = 0;
  std::uint64_t value_bytes_ = 0;
  array original_;
  array work_;
  spansort::multiset_checksum checksum_;
  std::map<int, std::shared_ptr<resident_arrays>> on_gpus_;
};

/// "u32(u64)": bytes of the value, 0 where there is none.
[[nodiscard]] std::uint64_t value_bytes_of(const std::string& type);
[[nodiscard]] std::uint64_t record_bytes_of(const std::string& type);

}  // namespace bench
