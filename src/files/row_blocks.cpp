// SPDX-License-Identifier: Apache-2.0
#include "files/row_blocks.hpp"

#include <algorithm>
#include <utility>

namespace spansort::files {

row_blocks::row_blocks(key_reader reader, const array_axis& axis, std::uint64_t block_units)
    : reader_(std::move(reader)), axis_(axis), block_units_(block_units) {}

std::uint64_t row_blocks::block_bytes(const array_axis& axis, std::uint64_t element_bytes, std::uint64_t block_units) {
  return block_units * axis.unit_elements() * element_bytes * (axis.inner == 1 ? 1 : 2);
}

row_block row_blocks::next(const transfer_progress& progress) {
  const std::uint64_t key_bytes = reader_.layout().element_bytes();
  if (units_read_ == axis_.outer || axis_.unit_elements() == 0) {
    require_end(key_bytes);
    return {};
  }
  row_block block{.num_units = std::min(block_units_, axis_.outer - units_read_)};
  const std::uint64_t num_bytes = block.num_units * axis_.unit_elements() * key_bytes;
  elements_.make_room(num_bytes);
  reader_.read_some({elements_.data(), num_bytes}, progress);
  units_read_ += block.num_units;
  block.num_rows = block.num_units * axis_.inner;
  block.keys = elements_.data();
  if (axis_.inner == 1) return block;
  rows_.make_room(num_bytes);
  transpose(elements_.data(), rows_.data(), key_bytes, block.num_units, axis_.length, axis_.inner);
  block.keys = rows_.data();
  return block;
}

/// A stream may hold more than its header says, which one more read shows.
void row_blocks::require_end(std::uint64_t key_bytes) {
  elements_.make_room(key_bytes);
  reader_.read_some({elements_.data(), key_bytes});
}

std::byte* row_blocks::in_array_order(const row_block& block, std::byte* rows, std::uint64_t element_bytes) {
  if (axis_.inner == 1) return rows;
  elements_.make_room(block.num_units * axis_.unit_elements() * element_bytes);
  transpose(rows, elements_.data(), element_bytes, block.num_units, axis_.inner, axis_.length);
  return elements_.data();
}

}  // namespace spansort::files
