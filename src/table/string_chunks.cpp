// SPDX-License-Identifier: Apache-2.0
#include "table/string_chunks.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <mutex>

#include "base/for_blocks.hpp"
#include "base/math.hpp"
#include "table/column_source.hpp"

namespace spansort::table {
namespace {

constexpr std::uint64_t word_bytes = 8;

std::uint64_t common_prefix(row_bytes a, row_bytes b, std::uint64_t most) {
  const std::uint64_t end = std::min({a.size, b.size, most});
  return static_cast<std::uint64_t>(std::mismatch(a.data, a.data + end, b.data).first - a.data);
}

}  // namespace

struct string_column::lengths {
  std::uint64_t shortest = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t longest = 0;
  std::uint64_t common = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t example = std::numeric_limits<std::uint64_t>::max();  ///< the first row that is not null

  [[nodiscard]] bool is_empty() const { return shortest > longest; }
};

string_column::string_column(const column_span& column, std::uint64_t num_rows, unsigned most_bits) : column_(column) {
  check_strings(column, num_rows);
  if (num_rows != 0 && has_offsets(column.kind)) {
    bytes_end_ = static_cast<const std::byte*>(column.values) + offset_at(column.first_row + num_rows);
  }
  lengths all;
  std::mutex all_mutex;
  base::for_blocks(num_rows, [&](std::uint64_t begin, std::uint64_t end) {
    const lengths block = lengths_of(begin, end);
    if (block.is_empty()) return;
    const std::lock_guard lock(all_mutex);
    all.common = all.is_empty() ? block.common
                                : common_prefix(at(all.example), at(block.example), std::min(all.common, block.common));
    all.shortest = std::min(all.shortest, block.shortest);
    all.longest = std::max(all.longest, block.longest);
    all.example = std::min(all.example, block.example);
  });
  choose_chunks(all, most_bits);
}

string_column::lengths string_column::lengths_of(std::uint64_t begin, std::uint64_t end) const {
  lengths block;
  for (std::uint64_t row = begin; row < end; ++row) {
    if (is_null(row)) continue;
    const row_bytes text = at(row);
    block.common = block.is_empty() ? text.size : common_prefix(at(block.example), text, block.common);
    block.shortest = std::min(block.shortest, text.size);
    block.longest = std::max(block.longest, text.size);
    block.example = std::min(block.example, row);
  }
  return block;
}

void string_column::choose_chunks(const lengths& all, unsigned most_bits) {
  if (all.is_empty()) return;
  common_bytes_ = all.common;
  longest_ = all.longest;
  const bool is_one_length = all.shortest == longest_;
  // A tag is 0 ... chunk_bytes_, and one more for strings that go on.
  const auto tag_bits = [&](std::uint64_t num_bytes) {
    return is_one_length ? 0 : static_cast<unsigned>(std::bit_width(num_bytes + 1));
  };
  chunk_bytes_ = std::min(longest_ - common_bytes_, word_bytes);
  const unsigned null_bits = column_.validity == nullptr ? 0 : 1;
  while (chunk_bytes_ != 0 && 8 * chunk_bytes_ + tag_bits(chunk_bytes_) + null_bits > most_bits) --chunk_bytes_;
  tag_bits_ = tag_bits(chunk_bytes_);
}

std::uint64_t string_column::offset_at(std::uint64_t place) const noexcept {
  // Arrow's offsets are signed: negative ones become large here.
  if (column_.kind == column_kind::bytes32) return static_cast<const std::uint32_t*>(column_.offsets)[place];
  return static_cast<const std::uint64_t*>(column_.offsets)[place];
}

row_bytes string_column::at(std::uint64_t row) const noexcept {
  const auto* const bytes = static_cast<const std::byte*>(column_.values);
  const std::uint64_t place = column_.first_row + row;
  if (column_.kind == column_kind::fixed_bytes) return {bytes + place * column_.width_bytes, column_.width_bytes};
  if (column_.kind == column_kind::byte_views) {
    const byte_view& view = view_at(row);
    const auto size = static_cast<std::uint64_t>(view.size);
    if (size <= byte_view::most_inline_bytes) return {view.prefix, size};
    return {static_cast<const std::byte*>(column_.view_buffers[view.buffer]) + view.offset, size};
  }
  const std::uint64_t begin = offset_at(place);
  return {bytes + begin, offset_at(place + 1) - begin};
}

const byte_view& string_column::view_at(std::uint64_t row) const noexcept {
  return static_cast<const byte_view*>(column_.values)[column_.first_row + row];
}

bool string_column::is_null(std::uint64_t row) const noexcept { return !is_valid(column_, row); }

unsigned string_column::chunk_bits() const noexcept { return static_cast<unsigned>(8 * chunk_bytes_) + tag_bits_; }

/// Bytes as the number that memcmp would compare, with zeros behind the last of them.
std::uint64_t string_column::leading_bytes(row_bytes text, std::uint64_t num_bytes) const noexcept {
  if (num_bytes == 0) return 0;
  std::uint64_t number = 0;
  if (text.data < bytes_end_ && bytes_end_ - text.data >= static_cast<std::ptrdiff_t>(word_bytes)) {
    // Eight bytes can be read where eight are, whoever they belong to: a copy of a size known here is a single load.
    std::memcpy(&number, text.data, word_bytes);
    return __builtin_bswap64(number) & ~base::low_mask(static_cast<unsigned>(8 * (word_bytes - num_bytes)));
  }
  std::memcpy(&number, text.data, num_bytes);
  return __builtin_bswap64(number);
}

std::uint64_t string_column::chunk(std::uint64_t row, std::uint64_t offset) const noexcept {
  if (chunk_bytes_ == 0 || is_null(row)) return 0;  // the bytes of a null may be anything and anywhere
  const row_bytes text = at(row);
  const std::uint64_t left = text.size - offset;
  const std::uint64_t num_bytes = std::min(left, chunk_bytes_);
  const std::uint64_t bytes = leading_bytes({text.data + offset, left}, num_bytes) >> (64 - 8 * chunk_bytes_);
  return bytes << tag_bits_ | (tag_bits_ == 0 ? 0 : std::min(left, chunk_bytes_ + 1));
}

bool string_column::goes_on(std::uint64_t row, std::uint64_t offset) const noexcept {
  return at(row).size > offset + chunk_bytes_;
}

}  // namespace spansort::table
