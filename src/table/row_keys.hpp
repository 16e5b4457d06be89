// SPDX-License-Identifier: Apache-2.0
// The key of a table's row: the ranks of its columns as one sequence of bits, cut into words of 64.
//
// A string that does not end in its first chunk ends the word that the chunk ends in. Rows that are equal so far go on
// by its next chunks, and then with the next word.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "sort/group_sort.hpp"
#include "spansort/table.hpp"
#include "table/key_piece.hpp"
#include "table/string_chunks.hpp"

namespace spansort::table {

class row_keys final : public sorting::key_words {
 public:
  /// Looks at all values. The memory behind `columns` outlives the keys. Throws invalid_argument.
  row_keys(std::span<const sort_column> columns, std::uint64_t num_rows);

  [[nodiscard]] std::uint64_t word(std::uint64_t row, std::uint64_t step) const override;
  [[nodiscard]] std::optional<std::uint64_t> next_step(std::uint64_t row, std::uint64_t step) const override;
  [[nodiscard]] bool is_last(std::uint64_t step) const noexcept override;
  [[nodiscard]] unsigned num_bits(std::uint64_t step) const noexcept override;
  void write_words(std::span<const std::uint32_t> rows, std::uint64_t step,
                   std::span<std::uint64_t> words) const override;
  void write_words(std::span<const std::uint64_t> rows, std::uint64_t step,
                   std::span<std::uint64_t> words) const override;

  [[nodiscard]] bool are_equal(std::uint64_t a, std::uint64_t b) const;

 private:
  /// The strings of a column that go on behind the end of a word.
  struct open_strings {
    std::shared_ptr<const string_column> strings;
    bool is_descending = false;
  };
  /// Some bits of a piece's ranks within a word.
  struct word_part {
    std::size_t piece = 0;
    unsigned drop = 0;   ///< low bits of the rank that belong to the next word
    unsigned shift = 0;  ///< bits below the part in this word
    std::uint64_t mask = 0;
  };
  struct word_layout {
    std::vector<word_part> parts;
    unsigned num_bits = 0;
    open_strings open;
  };

  void append(const sort_column& column, std::uint64_t num_rows);
  void append_piece(key_piece piece);
  void write_block(const row_block& block, std::uint64_t step, std::uint64_t* words) const;
  void write_chunks(const row_block& block, std::uint64_t step, std::uint64_t* words) const;
  template <class Index>
  void write_rows(std::span<const Index> rows, std::uint64_t step, std::span<std::uint64_t> words) const;

  std::vector<key_piece> pieces_;
  std::vector<word_layout> words_;
  bool is_last_word_full_ = true;  ///< the next piece begins another word
};

/// Writes the order of the rows into `order`, one a row.
void argsort_rows(const row_keys& keys, std::span<std::uint64_t> order, const sort_options& options);

}  // namespace spansort::table
