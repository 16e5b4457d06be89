// SPDX-License-Identifier: Apache-2.0
// The merge of sorted runs of rows, where what may be joined is bounded.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "arrow_producer.hpp"
#include "table/external/run_merge.hpp"
#include "table/external/run_writer.hpp"

namespace spansort::test {
namespace {

TEST(RunMerge, RowsAreJoinedUpToTheMostBytesAlone) {
  random_words random(seed_for(28));
  constexpr std::uint64_t num_runs = 20;
  arrow_source source;
  source.columns.push_back(make_column({.type = key_type::u64, .contents = table_contents::extreme}, num_runs, random));
  for (std::uint64_t end = 1; end <= num_runs; ++end) source.chunk_ends.push_back(end);
  ArrowArrayStream stream = stream_of(source);
  table::arrow_reader reader(&stream);
  const arrow_key by[] = {{"0"}};
  table::stream_sort_parts parts{.schema = reader.schema(),
                                 .order = table::row_order(*reader.schema(), by),
                                 .dictionaries = table::table_dictionaries(*reader.schema()),
                                 .options = {},
                                 .memory_bytes = std::uint64_t{1} << 30};
  table::table_spill spill({std::filesystem::temp_directory_path().string()}, 4096);
  std::vector<table::spilled_run> runs;
  constexpr std::uint64_t first_row = 0;
  for (table::arrow_rows batch; reader.read(batch);) {
    table::run_writer writer(parts.order, spill);
    writer.add(table::take_rows(batch, {&first_row, 1}));
    runs.push_back(writer.finish());
  }
  ASSERT_EQ(runs.size(), num_runs);
  constexpr std::uint64_t most_rows = 3;
  parts.most_bytes = most_rows * runs[0].blocks[0].size_bytes;
  table::run_merge merge(parts, spill, std::move(runs));
  const std::vector<std::uint64_t> order = expected_order(source.columns, num_runs);
  std::uint64_t place = 0;
  for (table::arrow_rows rows; merge.next(parts.memory_bytes, rows); place += rows.num_rows) {
    // A block of one row is handed out as a whole, so that it is never joined with what is read later.
    ASSERT_EQ(rows.num_rows, std::min(most_rows, num_runs - place));
    for (std::uint64_t row = 0; row < rows.num_rows; ++row) {
      EXPECT_TRUE(cell_at(rows.columns[0].span, row).integer == source.columns[0]->cells[order[place + row]].integer);
    }
  }
  EXPECT_EQ(place, num_runs);
}

}  // namespace
}  // namespace spansort::test
