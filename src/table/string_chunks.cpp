// SPDX-License-Identifier: Apache-2.0
#include "table/string_chunks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <mutex>

#include "base/for_blocks.hpp"
#include "spansort/errors.hpp"
#include "table/column_source.hpp"

namespace spansort::table {
namespace {

constexpr std::uint64_t word_bytes = 8;

/// Bytes as the number that memcmp would compare, with zeros behind the last of them.
std::uint64_t big_endian(const std::byte* bytes, std::uint64_t num_bytes) {
  std::uint64_t number = 0;
  std::memcpy(&number, bytes, num_bytes);
  return __builtin_bswap64(number);
}

std::uint64_t common_prefix(string_view_of_row a, string_view_of_row b, std::uint64_t most) {
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

string_column::string_column(const column_span& column, std::uint64_t num_rows) : column_(column) {
  check_last_offset(num_rows);
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
  choose_chunks(all);
}

/// Offsets that do not fall are not negative where the last of them is not.
void string_column::check_last_offset(std::uint64_t num_rows) const {
  if (num_rows == 0 || column_.kind == column_kind::fixed_bytes) return;
  const std::uint64_t most = column_.kind == column_kind::bytes32 ? std::numeric_limits<std::int32_t>::max()
                                                                  : std::numeric_limits<std::int64_t>::max();
  if (offset_at(column_.first_row + num_rows) <= most) return;
  throw invalid_argument("argsort_table: an offset of strings is negative");
}

string_column::lengths string_column::lengths_of(std::uint64_t begin, std::uint64_t end) const {
  lengths block;
  const bool has_offsets = column_.kind != column_kind::fixed_bytes;
  for (std::uint64_t row = begin; row < end; ++row) {
    const std::uint64_t place = column_.first_row + row;
    if (has_offsets && offset_at(place + 1) < offset_at(place)) {
      throw invalid_argument(fmt::format("argsort_table: the offsets of strings fall behind row {}", row));
    }
    if (is_null(row)) continue;
    const string_view_of_row text = at(row);
    block.common = block.is_empty() ? text.size : common_prefix(at(block.example), text, block.common);
    block.shortest = std::min(block.shortest, text.size);
    block.longest = std::max(block.longest, text.size);
    block.example = std::min(block.example, row);
  }
  return block;
}

void string_column::choose_chunks(const lengths& all) {
  if (all.is_empty()) return;
  common_bytes_ = all.common;
  longest_ = all.longest;
  const std::uint64_t left = longest_ - common_bytes_;
  const bool is_one_length = all.shortest == longest_;
  chunk_bytes_ = std::min(left, is_one_length ? word_bytes : word_bytes - 1);
  // A tag is 0 ... chunk_bytes_, and one more for strings that go on.
  tag_bits_ = is_one_length ? 0 : static_cast<unsigned>(std::bit_width(chunk_bytes_ + 1));
}

std::uint64_t string_column::offset_at(std::uint64_t place) const noexcept {
  // Arrow's offsets are signed: negative ones become large here.
  if (column_.kind == column_kind::bytes32) return static_cast<const std::uint32_t*>(column_.offsets)[place];
  return static_cast<const std::uint64_t*>(column_.offsets)[place];
}

string_view_of_row string_column::at(std::uint64_t row) const noexcept {
  const auto* const bytes = static_cast<const std::byte*>(column_.values);
  const std::uint64_t place = column_.first_row + row;
  if (column_.kind == column_kind::fixed_bytes) return {bytes + place * column_.width_bytes, column_.width_bytes};
  const std::uint64_t begin = offset_at(place);
  return {bytes + begin, offset_at(place + 1) - begin};
}

bool string_column::is_null(std::uint64_t row) const noexcept { return !is_valid(column_, row); }

unsigned string_column::chunk_bits() const noexcept { return static_cast<unsigned>(8 * chunk_bytes_) + tag_bits_; }

std::uint64_t string_column::chunk(std::uint64_t row, std::uint64_t offset) const noexcept {
  const string_view_of_row text = at(row);
  if (chunk_bytes_ == 0 || text.size < offset) return 0;  // a null row may hold anything
  const std::uint64_t left = text.size - offset;
  const std::uint64_t num_bytes = std::min(left, chunk_bytes_);
  const std::uint64_t bytes = big_endian(text.data + offset, num_bytes) >> (64 - 8 * chunk_bytes_);
  return bytes << tag_bits_ | (tag_bits_ == 0 ? 0 : std::min(left, chunk_bytes_ + 1));
}

bool string_column::goes_on(std::uint64_t row, std::uint64_t offset) const noexcept {
  return at(row).size > offset + chunk_bytes_;
}

}  // namespace spansort::table
