// SPDX-License-Identifier: Apache-2.0
// Rows of keys, each sorted by itself: short ones a thread each, long ones on all devices one after the other.
#pragma once

#include <cstdint>
#include <functional>

#include "base/byte_buffer.hpp"
#include "spansort/options.hpp"
#include "spansort/sort.hpp"
#include "spansort/types.hpp"

namespace spansort::sorting {

class row_sorter {
 public:
  /// Report, progress and ceiling of `options` should be cleared (for_counted_sorts). Throws what a sorter throws.
  row_sorter(key_type type, direction d, const sort_options& options);

  /// Sorts `num_rows` rows of `row_keys` keys; keys alone, as sort() has them.
  void sort(void* keys, std::uint64_t num_rows, std::uint64_t row_keys);
  /// Writes the stable order of each row, from 0 on; the keys are lost.
  void argsort(void* keys, std::uint64_t num_rows, std::uint64_t row_keys, std::uint64_t* indices);

  /// Returns the bytes taken beside keys and indices of a block of rows.
  [[nodiscard]] std::uint64_t workspace_bytes(std::uint64_t num_rows, std::uint64_t row_keys, bool wants_order) const;

 private:
  [[nodiscard]] bool is_short(std::uint64_t row_keys, bool wants_order) const;

  key_type type_;
  direction direction_;
  sort_options options_;
  sorter sorter_;
  base::byte_buffer places_;
};

}  // namespace spansort::sorting
