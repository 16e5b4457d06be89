// SPDX-License-Identifier: Apache-2.0
// Inputs in host memory, and the arrays in which they are sorted: allocated once, restored before every run, checked
// after.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <spansort/check.hpp>
#include <spansort/sort.hpp>
#include <spansort/types.hpp>
#include <string>

#include "device/cuda/handles.hpp"

namespace bench {

struct host_input {
  std::string type;  ///< "u32", "u64(u64)" ...
  std::string distribution = "uniform";
  std::uint64_t num_keys = 0;
  std::uint64_t seed = 1;

  [[nodiscard]] spansort::key_type key_type() const;
  [[nodiscard]] std::uint64_t value_bytes() const;  ///< of one value, 0 for keys alone
  [[nodiscard]] std::uint64_t record_bytes() const;
  [[nodiscard]] std::uint64_t size_bytes() const { return num_keys * record_bytes(); }
  friend bool operator==(const host_input&, const host_input&) = default;
};

/// Sorts the records at `work`: keys first, behind them the values.
void sort_records(spansort::sorter& sorter, const host_input& input, void* work);

/// Sums of words and of their squares: told in one cheap read, and the same in any order.
struct power_sums {
  std::uint64_t words = 0;
  std::uint64_t squares = 0;
  friend bool operator==(const power_sums&, const power_sums&) = default;
};

struct free_deleter {
  void operator()(void* memory) const noexcept;
};

class host_arrays {
 public:
  /// Every array is of `capacity_bytes`; allocated when first asked for.
  explicit host_arrays(std::uint64_t capacity_bytes) : capacity_bytes_(capacity_bytes) {}

  [[nodiscard]] void* pinned();
  [[nodiscard]] void* pageable();
  void release_pageable() { pageable_.reset(); }

  /// Makes `input` the one that restore() and holds_result() are about. Values are the positions of their keys.
  void set_input(const host_input& input);
  void restore(void* work);
  /// Returns whether `work` is in order and the power sums of keys and values are those of the input, as after every
  /// run.
  [[nodiscard]] bool looks_right(const void* work) const;
  /// Returns whether `work` is in order and holds the records of the input, by the library's checksum of the multiset;
  /// of pairs also whether ties kept their order. Takes several times as long.
  [[nodiscard]] bool holds_result(const void* work) const;

 private:
  using pageable_memory = std::unique_ptr<void, free_deleter>;
  [[nodiscard]] pageable_memory allocate_pageable() const;

  std::uint64_t capacity_bytes_;
  spansort::device::cuda::pinned_memory pinned_;
  pageable_memory pageable_;
  pageable_memory original_;
  std::optional<host_input> input_;
  spansort::multiset_checksum checksum_;
  power_sums key_sums_;
  power_sums value_sums_;
};

}  // namespace bench
