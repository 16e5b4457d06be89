// SPDX-License-Identifier: Apache-2.0
#include "table/row_keys.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/math.hpp"
#include "keys/codec.hpp"
#include "spansort/errors.hpp"

namespace spansort::table {
namespace {

constexpr unsigned word_bits = 64;

/// Strings that go on begin in a word in which so many bits are left, and in the next one otherwise.
constexpr unsigned fewest_string_bits = 28;

// A step is the number of a word; behind the end of a word with open strings, that and an offset into the string.

constexpr unsigned offset_bits = 48;  // no memory is larger
constexpr std::uint64_t chunk_flag = std::uint64_t{1} << 63;

constexpr std::uint64_t most_words = std::uint64_t{1} << (63 - offset_bits);

constexpr bool is_chunk(std::uint64_t step) { return (step & chunk_flag) != 0; }
constexpr std::uint64_t word_of(std::uint64_t step) { return (step & ~chunk_flag) >> offset_bits; }
constexpr std::uint64_t offset_of(std::uint64_t step) { return step & base::low_mask(offset_bits); }
constexpr std::uint64_t word_step(std::uint64_t word) { return word << offset_bits; }
constexpr std::uint64_t chunk_step(std::uint64_t word, std::uint64_t offset) {
  return chunk_flag | word_step(word) | offset;
}

}  // namespace

row_keys::row_keys(std::span<const sort_column> columns, std::uint64_t num_rows) {
  for (const sort_column& column : columns) append(column, num_rows);
  if (words_.empty()) words_.emplace_back();  // of no bits: all rows are equal
}

void row_keys::append(const sort_column& column, std::uint64_t num_rows) {
  const unsigned bits_left = is_last_word_full_ ? word_bits : word_bits - words_.back().num_bits;
  const unsigned string_bits = bits_left < fewest_string_bits ? word_bits : bits_left;
  column_sources of_column = sources_of(column, num_rows, string_bits);
  // Strings are cut to the room that is left, so that rows rarely need another word; they fill a new one otherwise.
  if (of_column.strings != nullptr && string_bits != bits_left) is_last_word_full_ = true;
  bool is_first = true;
  for (column_source& source : of_column.sources) {
    key_piece piece(std::move(source), column.values, column.order, num_rows, is_first);
    if (piece.needs_null_flags()) append_piece(piece.null_flags());
    append_piece(std::move(piece));
    is_first = false;
  }
  if (of_column.strings == nullptr) return;
  // Strings that go on behind their first chunk differ in it, so that it has bits in the last word.
  words_.back().open = {std::move(of_column.strings), keys::is_descending(column.order.order)};
  is_last_word_full_ = true;
}

/// Cuts the piece where a word is full.
void row_keys::append_piece(key_piece piece) {
  unsigned left = piece.num_bits();
  if (left == 0) return;
  pieces_.push_back(std::move(piece));
  while (left != 0) {
    if (is_last_word_full_) {
      if (words_.size() == most_words)
        throw invalid_argument("argsort_table: columns of more than 262,144 bytes a row");
      words_.emplace_back();
    }
    word_layout& word = words_.back();
    const unsigned num_bits = std::min(left, word_bits - word.num_bits);
    for (word_part& part : word.parts) part.shift += num_bits;
    left -= num_bits;
    word.parts.push_back({pieces_.size() - 1, left, 0, base::low_mask(num_bits)});
    word.num_bits += num_bits;
    is_last_word_full_ = word.num_bits == word_bits;
  }
}

bool row_keys::is_last(std::uint64_t step) const noexcept {
  return word_of(step) + 1 == words_.size() && words_.back().open.strings == nullptr;
}

unsigned row_keys::num_bits(std::uint64_t step) const noexcept {
  const word_layout& word = words_[word_of(step)];
  return is_chunk(step) ? word.open.strings->chunk_bits() : word.num_bits;
}

std::optional<std::uint64_t> row_keys::next_step(std::uint64_t row, std::uint64_t step) const {
  const std::uint64_t word = word_of(step);
  if (const string_column* const strings = words_[word].open.strings.get()) {
    const std::uint64_t offset = is_chunk(step) ? offset_of(step) : strings->common_bytes();
    if (!strings->is_null(row) && strings->goes_on(row, offset))
      return chunk_step(word, offset + strings->chunk_bytes());
  }
  return word + 1 < words_.size() ? std::optional(word_step(word + 1)) : std::nullopt;
}

std::uint64_t row_keys::word(std::uint64_t row, std::uint64_t step) const {
  std::uint64_t word = 0;
  write_block({.first_row = row, .num_rows = 1}, step, &word);
  return word;
}

void row_keys::write_block(const row_block& block, std::uint64_t step, std::uint64_t* words) const {
  if (is_chunk(step)) return write_chunks(block, step, words);
  std::fill_n(words, block.num_rows, 0);
  std::array<std::uint64_t, most_block_rows> ranks;
  for (const word_part& part : words_[word_of(step)].parts) {
    pieces_[part.piece].write_ranks(block, ranks.data());
    for (std::uint64_t i = 0; i < block.num_rows; ++i) words[i] |= (ranks[i] >> part.drop & part.mask) << part.shift;
  }
}

void row_keys::write_chunks(const row_block& block, std::uint64_t step, std::uint64_t* words) const {
  const open_strings& open = words_[word_of(step)].open;
  const std::uint64_t flip = open.is_descending ? base::low_mask(open.strings->chunk_bits()) : 0;
  const std::uint64_t offset = offset_of(step);
  for_rows(block, [&](std::uint64_t i, std::uint64_t row) { words[i] = open.strings->chunk(row, offset) ^ flip; });
}

template <class Index>
void row_keys::write_rows(std::span<const Index> rows, std::uint64_t step, std::span<std::uint64_t> words) const {
  std::array<std::uint64_t, most_block_rows> block_rows;
  for (std::size_t begin = 0; begin < rows.size(); begin += most_block_rows) {
    const std::span block = rows.subspan(begin, std::min<std::size_t>(most_block_rows, rows.size() - begin));
    std::uint64_t gaps = 0;
    for (std::size_t i = 0; i < block.size(); ++i) {
      block_rows[i] = block[i];
      gaps |= block_rows[i] - (block_rows[0] + i);
    }
    const bool are_neighbours = gaps == 0;
    write_block({are_neighbours ? nullptr : block_rows.data(), block_rows[0], block.size()}, step, &words[begin]);
  }
}

void row_keys::write_words(std::span<const std::uint32_t> rows, std::uint64_t step,
                           std::span<std::uint64_t> words) const {
  write_rows(rows, step, words);
}
void row_keys::write_words(std::span<const std::uint64_t> rows, std::uint64_t step,
                           std::span<std::uint64_t> words) const {
  write_rows(rows, step, words);
}

bool row_keys::are_equal(std::uint64_t a, std::uint64_t b) const {
  std::optional<std::uint64_t> step = 0;
  while (step) {
    if (word(a, *step) != word(b, *step)) return false;
    step = next_step(a, *step);
  }
  return true;
}

}  // namespace spansort::table
