// SPDX-License-Identifier: Apache-2.0
// A system that hands out tables by Arrow's C structs, and counts what its consumer gives back.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "spansort/arrow.hpp"
#include "table_case.hpp"

namespace spansort::test {

struct arrow_source {
  std::vector<std::unique_ptr<table_column>> columns;   ///< named "0", "1" ...
  std::vector<std::uint64_t> chunk_ends;                ///< rows behind each chunk, rising
  std::unique_ptr<table_column> later_dictionary = {};  ///< of all chunks but the first, if there is one
  std::string error_after_chunks = {};                  ///< what the stream fails with at its end; empty: it ends well
  std::int64_t num_unreleased = 0;                      ///< structs that are out
};

/// The source outlives what is made of the stream.
[[nodiscard]] ArrowArrayStream stream_of(arrow_source& source);

/// A format string that Arrow has no type for stands for key types that it does not know.
[[nodiscard]] std::string arrow_format(const column_span& column);

/// The value of a row as tests see it.
[[nodiscard]] cell cell_at(const column_span& column, std::uint64_t row);
/// Returns whether two cells hold one value; every NaN is one value here.
[[nodiscard]] bool are_same(const cell& a, const cell& b);

/// Reads the table that the source hands out, and expects that the stream is released.
[[nodiscard]] arrow_table read(arrow_source& source);

/// Expects that the table has the rows of the source that `rows` names, in that order.
void expect_rows(const arrow_table& table, const arrow_source& source, const std::vector<std::uint64_t>& rows);
[[nodiscard]] std::vector<std::uint64_t> all_rows(std::uint64_t num_rows);

/// A random column of a type that Arrow has.
[[nodiscard]] column_case arrow_column_case(random_words& random);

}  // namespace spansort::test
