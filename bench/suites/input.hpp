// SPDX-License-Identifier: Apache-2.0
// An input lies in host memory, with the arrays in which contenders take turns to sort it, and what they leave is
// checked against it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <spansort/check.hpp>
#include <spansort/types.hpp>
#include <vector>

#include "bench/suites/figures.hpp"

namespace bench {

/// Memory and how it is given back.
using host_memory = std::unique_ptr<void, void (*)(void*)>;

class resident_arrays;

/// "argsort(u32)" is keys of u32 that stay, and indices of 8 bytes; "u32(u64)" pairs.
struct record_type {
  spansort::key_type key = spansort::key_type::u32;
  std::uint64_t value_bytes = 0;  ///< of values or indices, 0 where there are none
  bool is_argsort = false;

  [[nodiscard]] std::uint64_t size_bytes() const { return spansort::size_bytes(key) + value_bytes; }
};
/// Throws spansort::invalid_argument.
[[nodiscard]] record_type parse_record_type(const std::string& type);

class input {
 public:
  /// Generates the input of a case, in the memory of the one before where that is enough: fresh memory comes slowly,
  /// pinned memory more so. No contender is at work. `pinned`: the arrays that are sorted are pinned for copies to
  /// GPUs. Values are the positions of their keys.
  void load(const case_spec& spec, std::uint64_t seed, bool pinned);

  [[nodiscard]] spansort::key_type type() const { return type_.key; }
  [[nodiscard]] bool is_argsort() const { return type_.is_argsort; }
  /// Returns the number of keys of one array; there is one but for small sorts, which are timed many at once.
  [[nodiscard]] std::uint64_t num_keys() const { return num_keys_; }
  [[nodiscard]] std::uint64_t num_arrays() const { return num_arrays_; }
  [[nodiscard]] std::uint64_t key_bytes() const { return spansort::size_bytes(type_.key); }
  [[nodiscard]] std::uint64_t value_bytes() const { return type_.value_bytes; }
  [[nodiscard]] std::uint64_t size_bytes() const { return num_keys_ * num_arrays_ * type_.size_bytes(); }

  /// The keys of all arrays, and behind them the values: as generated, and as a contender leaves them.
  [[nodiscard]] const void* original() const { return original_.get(); }
  [[nodiscard]] void* work() { return work_.get(); }
  /// Returns the address of the values in `of`, null where none travel.
  [[nodiscard]] void* values_in(void* of) const;
  /// The keys of one of the arrays that are sorted, and its values (for argsort: the indices that are wanted).
  [[nodiscard]] void* keys_at(std::uint64_t place) {
    return static_cast<char*>(work_.get()) + place * num_keys_ * key_bytes();
  }
  [[nodiscard]] void* values_at(std::uint64_t place) {
    void* const values = values_in(work_.get());
    return values == nullptr ? nullptr : static_cast<char*>(values) + place * num_keys_ * type_.value_bytes;
  }

  void restore();
  /// Returns whether the work arrays are in order and hold the records of the input; where `stable`, with equal keys
  /// in the input's order. The keys of an argsort are brought into its order first.
  [[nodiscard]] bool holds_result(bool stable = false);

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
  [[nodiscard]] bool take_keys_by_indices();
  [[nodiscard]] std::vector<std::uint64_t> sums_of(const void* of) const;

  record_type type_;
  std::uint64_t num_keys_ = 0;
  std::uint64_t num_arrays_ = 1;
  array original_;
  array work_;
  spansort::multiset_checksum checksum_;
  std::vector<std::uint64_t> sums_;  ///< of each array's keys, where there are several
  std::map<int, std::shared_ptr<resident_arrays>> on_gpus_;
};

}  // namespace bench
