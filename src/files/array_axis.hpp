// SPDX-License-Identifier: Apache-2.0
// An axis of an array as it lies in memory: outer times, `length` elements, each `inner` elements from the next; and
// the rows that are made of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "files/io/npy.hpp"

namespace spansort::files {

struct array_axis {
  std::uint64_t outer = 1;
  std::uint64_t length = 1;
  std::uint64_t inner = 1;

  /// Elements that have to be in memory together.
  [[nodiscard]] std::uint64_t unit_elements() const noexcept { return length * inner; }
};

/// Negative axes count from the last one, which is -1. Throws invalid_argument naming `file` for one that is not there.
[[nodiscard]] array_axis axis_of(const npy_array& array, int axis, const std::string& file);

/// Returns whether all dimensions but the one of `axis` are 1.
[[nodiscard]] bool is_one_row(const npy_array& array, int axis, const std::string& file);

/// Writes `num_units` matrices of `num_rows` times `num_columns` elements of 1, 2, 4 or 8 bytes from `from`, one after
/// the other, to `to` with rows and columns exchanged; uses all threads.
void transpose(const std::byte* from, std::byte* to, std::uint64_t element_bytes, std::uint64_t num_units,
               std::uint64_t num_rows, std::uint64_t num_columns);

}  // namespace spansort::files
