// SPDX-License-Identifier: Apache-2.0
// Strings as sequences of numbers: a number holds the next few bytes of a string and says whether it ends there.
#pragma once

#include <cstddef>
#include <cstdint>

#include "spansort/table.hpp"
#include "table/check_column.hpp"

namespace spansort::table {

/// The bytes of a row's string.
struct row_bytes {
  const std::byte* data = nullptr;
  std::uint64_t size = 0;
};

/// A column of strings or of bytes of one width.
class string_column {
 public:
  /// Looks at all strings, on all threads. Throws invalid_argument where offsets fall or lead out of a buffer.
  /// Chunks have `most_bits` bits at most, a rank for nulls included; 20 at least.
  string_column(const column_span& column, std::uint64_t num_rows, unsigned most_bits);

  [[nodiscard]] row_bytes at(std::uint64_t row) const noexcept;
  [[nodiscard]] bool is_null(std::uint64_t row) const noexcept;

  /// Bytes that all strings have in common at their beginning: none of them has to be looked at.
  [[nodiscard]] std::uint64_t common_bytes() const noexcept { return common_bytes_; }
  /// Strings from `offset` on as numbers in their order. Those that reach no further than chunk_bytes() beyond it are
  /// equal where their numbers are; the others may differ in what follows.
  [[nodiscard]] std::uint64_t chunk(std::uint64_t row, std::uint64_t offset) const noexcept;
  [[nodiscard]] std::uint64_t chunk_bytes() const noexcept { return chunk_bytes_; }
  [[nodiscard]] unsigned chunk_bits() const noexcept;
  /// Returns whether a string has bytes behind the chunk at `offset`.
  [[nodiscard]] bool goes_on(std::uint64_t row, std::uint64_t offset) const noexcept;
  /// Returns whether any string has bytes behind its first chunk.
  [[nodiscard]] bool any_goes_on() const noexcept { return longest_ > common_bytes_ + chunk_bytes_; }

 private:
  struct lengths;
  [[nodiscard]] const byte_view& view_at(std::uint64_t row) const noexcept;
  [[nodiscard]] lengths lengths_of(std::uint64_t begin, std::uint64_t end) const;
  void choose_chunks(const lengths& all, unsigned most_bits);
  [[nodiscard]] std::uint64_t leading_bytes(row_bytes text, std::uint64_t num_bytes) const noexcept;
  [[nodiscard]] std::uint64_t offset_at(std::uint64_t place) const noexcept;

  column_span column_;
  const std::byte* bytes_end_ = nullptr;  ///< behind the bytes of all strings, where they lie in one piece
  std::uint64_t common_bytes_ = 0;
  std::uint64_t longest_ = 0;
  std::uint64_t chunk_bytes_ = 0;
  unsigned tag_bits_ = 0;  ///< of the number of bytes that a chunk holds; none where all strings are of one length
};

}  // namespace spansort::table
