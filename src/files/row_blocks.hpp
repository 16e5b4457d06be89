// SPDX-License-Identifier: Apache-2.0
// The rows along an axis of an array, block after block as memory has room: neighbours in memory whatever the axis.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/byte_buffer.hpp"
#include "files/array_axis.hpp"
#include "files/io/key_reader.hpp"

namespace spansort::files {

/// Rows in memory.
struct row_block {
  std::byte* keys = nullptr;
  std::uint64_t num_rows = 0;
  std::uint64_t num_units = 0;  ///< of the axis

  [[nodiscard]] bool is_empty() const noexcept { return num_units == 0; }
};

class row_blocks {
 public:
  /// Reads `block_units` of the axis at a time, at least 1.
  row_blocks(key_reader reader, const array_axis& axis, std::uint64_t block_units);

  /// Bytes that a block of elements of `element_bytes` and its transposed copy take.
  [[nodiscard]] static std::uint64_t block_bytes(const array_axis& axis, std::uint64_t element_bytes,
                                                 std::uint64_t block_units);

  [[nodiscard]] const array_axis& axis() const noexcept { return axis_; }
  /// Reads the next block; an empty one at the end. The block before is gone. Throws as key_reader::read_some().
  [[nodiscard]] row_block next(const transfer_progress& progress = {});
  /// Returns the elements of the block, of `element_bytes`, in the order of the array; `rows` are in the order of the
  /// block and may be overwritten.
  [[nodiscard]] std::byte* in_array_order(const row_block& block, std::byte* rows, std::uint64_t element_bytes);

 private:
  void require_end(std::uint64_t key_bytes);

  key_reader reader_;
  array_axis axis_;
  std::uint64_t block_units_;
  std::uint64_t units_read_ = 0;
  base::byte_buffer elements_;  ///< as they lie in the file
  base::byte_buffer rows_;      ///< where rows are no neighbours there
};

}  // namespace spansort::files
