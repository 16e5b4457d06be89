// SPDX-License-Identifier: Apache-2.0
#include "table/key_piece.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <mutex>
#include <utility>

#include "base/for_blocks.hpp"
#include "keys/codec.hpp"

namespace spansort::table {
namespace {

constexpr std::uint64_t all_ones = std::numeric_limits<std::uint64_t>::max();

}  // namespace

void number_range::include(const number_range& other) noexcept {
  least = std::min(least, other.least);
  greatest = std::max(greatest, other.greatest);
  has_nulls = has_nulls || other.has_nulls;
}

key_piece::key_piece(column_source source, const column_span& column, const column_order& order, std::uint64_t num_rows,
                     bool places_nulls)
    : source_(std::move(source)), column_(column) {
  number_range all;
  std::mutex all_mutex;
  base::for_blocks(num_rows, [&](std::uint64_t begin, std::uint64_t end) {
    number_range range;
    for (std::uint64_t first = begin; first < end; first += most_block_rows) {
      range.include(range_of({.first_row = first, .num_rows = std::min(end - first, most_block_rows)}));
    }
    const std::lock_guard lock(all_mutex);
    all.include(range);
  });
  set_ranks(all, order, places_nulls);
}

number_range key_piece::range_of(const row_block& block) const {
  std::array<std::uint64_t, most_block_rows> numbers;
  source_.read(block, numbers.data());
  number_range range;
  const bool may_be_null = column_.validity != nullptr || source_.greatest_value != all_ones;
  for (std::uint64_t i = 0; i < block.num_rows; ++i) {
    if (may_be_null && is_null(block.first_row + i, numbers[i])) {
      range.has_nulls = true;
      continue;
    }
    range.least = std::min(range.least, numbers[i]);
    range.greatest = std::max(range.greatest, numbers[i]);
  }
  return range;
}

void key_piece::set_ranks(const number_range& range, const column_order& order, bool places_nulls) {
  has_nulls_ = range.has_nulls;
  nulls_ = order.nulls;
  if (range.is_empty()) return;  // all rows are null, or there are none
  const std::uint64_t greatest_rank = range.greatest - range.least;
  flip_ = keys::is_descending(order.order) ? all_ones : 0;
  from_ = flip_ == 0 ? range.least : ~range.greatest;
  num_bits_ = static_cast<unsigned>(std::bit_width(greatest_rank));
  if (!has_nulls_ || !places_nulls) return;
  needs_null_flags_ = greatest_rank == all_ones;
  if (needs_null_flags_) return;
  num_bits_ = static_cast<unsigned>(std::bit_width(greatest_rank + 1));
  if (nulls_ == null_order::last) {
    null_rank_ = greatest_rank + 1;
  } else {
    from_ -= 1;
  }
}

key_piece key_piece::null_flags() const {
  key_piece flags;
  flags.source_ = source_;
  flags.column_ = column_;
  flags.nulls_ = nulls_;
  flags.has_nulls_ = true;
  flags.is_null_flags_ = true;
  flags.num_bits_ = 1;
  return flags;
}

void key_piece::write_ranks(const row_block& block, std::uint64_t* ranks) const {
  source_.read(block, ranks);
  if (is_null_flags_) {
    for_rows(block, [&](std::uint64_t i, std::uint64_t row) {
      ranks[i] = is_null(row, ranks[i]) == (nulls_ == null_order::last) ? 1 : 0;
    });
  } else if (has_nulls_) {
    for_rows(block, [&](std::uint64_t i, std::uint64_t row) {
      ranks[i] = is_null(row, ranks[i]) ? null_rank_ : (ranks[i] ^ flip_) - from_;
    });
  } else {
    for (std::uint64_t i = 0; i < block.num_rows; ++i) ranks[i] = (ranks[i] ^ flip_) - from_;
  }
}

}  // namespace spansort::table
