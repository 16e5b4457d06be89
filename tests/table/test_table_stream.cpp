// SPDX-License-Identifier: Apache-2.0
// Tables that do not fit in the memory that their sort is given, against a comparison of rows.
#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>

#include "arrow_producer.hpp"
#include "spansort/spansort.hpp"

namespace spansort::test {
namespace {

constexpr std::uint64_t little_memory = std::uint64_t{64} << 10;

std::unique_ptr<table_column> arrow_column(std::uint64_t num_rows, random_words& random) {
  for (;;) {
    auto column = make_column(arrow_column_case(random), num_rows, random);
    if (column->dictionary == nullptr || arrow_format(column->dictionary->column.values) != "?") return column;
  }
}

arrow_source make_source(random_words& random, std::uint64_t num_columns, std::uint64_t num_rows,
                         std::uint64_t most_chunk_rows) {
  arrow_source source;
  for (std::uint64_t i = 0; i < num_columns; ++i) source.columns.push_back(arrow_column(num_rows, random));
  for (std::uint64_t end = 0; end < num_rows;) {
    end = std::min(num_rows, end + random() % most_chunk_rows);
    source.chunk_ends.push_back(end);
  }
  return source;
}

struct sorted_stream {
  ArrowArrayStream stream{};
  table_stream_report report = {};
  std::vector<std::string> names;

  sorted_stream() = default;
  sorted_stream(const sorted_stream&) = delete;
  sorted_stream& operator=(const sorted_stream&) = delete;
  ~sorted_stream() {
    if (stream.release != nullptr) stream.release(&stream);
  }
  void sort(arrow_source& source, std::size_t num_keys, const sort_options& options,
            const table_stream_options& streaming = {}) {
    for (std::size_t c = 0; c < num_keys; ++c) names.push_back(std::to_string(c));
    std::vector<arrow_key> by;
    for (std::size_t c = 0; c < num_keys; ++c) by.push_back({names[c], source.columns[c]->column.order});
    ArrowArrayStream input = stream_of(source);
    report = sort_stream(&input, by, &stream, streaming, options);
  }
};

/// Reads a stream to its end and calls check(column, row of the batch, row of the table) for all values.
void for_cells(ArrowArrayStream& stream,
               const std::function<void(std::uint64_t, const column_span&, std::uint64_t, std::uint64_t)>& check,
               std::uint64_t& num_rows) {
  num_rows = 0;
  for (;;) {
    ArrowSchema schema{};
    ArrowArray batch{};
    ASSERT_EQ(stream.get_schema(&stream, &schema), 0);
    ASSERT_EQ(stream.get_next(&stream, &batch), 0) << stream.get_last_error(&stream);
    if (batch.release == nullptr) {
      schema.release(&schema);
      return;
    }
    const arrow_table rows(&schema, &batch);
    for (std::uint64_t c = 0; c < rows.num_columns(); ++c) {
      const column_span column = rows.column(c);
      for (std::uint64_t row = 0; row < rows.num_rows(); ++row) check(c, column, row, num_rows + row);
    }
    num_rows += rows.num_rows();
  }
}

void expect_rows(sorted_stream& sorted, const arrow_source& source, const std::vector<std::uint64_t>& order) {
  std::uint64_t num_wrong = 0;
  std::uint64_t num_rows = 0;
  for_cells(
      sorted.stream,
      [&](std::uint64_t c, const column_span& column, std::uint64_t row, std::uint64_t place) {
        num_wrong += place >= order.size() || !are_same(cell_at(column, row), source.columns[c]->cells[order[place]]);
      },
      num_rows);
  ASSERT_EQ(num_rows, order.size());
  ASSERT_EQ(num_wrong, 0U);
}

TEST(TableStream, RowsComeInOrderFromRunsAndFromMemory) {
  random_words random(seed_for(21));
  std::uint64_t num_spilled = 0;
  std::uint64_t num_in_memory = 0;
  for (std::uint64_t i = 0; i < num_cases(30) && !HasFatalFailure(); ++i) {
    const std::uint64_t num_rows = random() % 5 == 0 ? random() % 4 : random() % 12'000;
    arrow_source source = make_source(random, 1 + random() % 4, num_rows, 1 + random() % 4'000);
    {
      sorted_stream sorted;
      sorted.sort(source, source.columns.size(), {.memory_limit_bytes = little_memory << random() % 6});
      EXPECT_EQ(sorted.report.num_rows, num_rows);
      ++(sorted.report.num_runs == 0 ? num_in_memory : num_spilled);
      EXPECT_EQ(sorted.report.num_runs == 0, sorted.report.spilled_bytes == 0);
      expect_rows(sorted, source, expected_order(source.columns, num_rows));
    }
    ASSERT_EQ(source.num_unreleased, 0) << "case " << i;
  }
  EXPECT_GT(num_spilled, 0U);
  EXPECT_GT(num_in_memory, 0U);
}

TEST(TableStream, EqualRowsKeepTheirOrderThroughSeveralPasses) {
  random_words random(seed_for(22));
  constexpr std::uint64_t num_rows = 40'000;
  arrow_source source;
  source.columns.push_back(make_column({.type = key_type::u8, .contents = table_contents::few}, num_rows, random));
  source.columns.push_back(make_column({.type = key_type::u64, .contents = table_contents::extreme}, num_rows, random));
  source.columns.push_back(make_column({.kind = column_kind::bytes32, .has_nulls = true}, num_rows, random));
  source.chunk_ends = {num_rows};  // one batch larger than all memory
  std::vector<std::unique_ptr<table_column>> keys;
  keys.push_back(std::move(source.columns[0]));
  const std::vector<std::uint64_t> order = expected_order(keys, num_rows);
  source.columns[0] = std::move(keys[0]);
  sorted_stream sorted;
  sorted.sort(source, 1, {.memory_limit_bytes = little_memory});
  // A row takes 9 bytes and more, so that all runs are written twice and those of the first pass are many.
  EXPECT_GT(sorted.report.num_runs, 40U);
  EXPECT_GT(sorted.report.spilled_bytes, 2 * num_rows * 9);
  expect_rows(sorted, source, order);
}

TEST(TableStream, DictionariesOfBatchesBecomeOne) {
  random_words random(seed_for(23));
  arrow_source source;
  source.columns.push_back(make_column(
      {.kind = column_kind::dictionary, .type = key_type::i16, .contents = table_contents::few}, 10, random));
  source.chunk_ends = {4, 10};
  const std::vector<float> first = {3, 1, 2, 7};
  const std::vector<float> later = {1, 9, 3, 0};
  table_column& column = *source.columns[0];
  auto* const indices = const_cast<std::int16_t*>(static_cast<const std::int16_t*>(column.column.values.values));
  for (std::uint64_t i = 0; i < 10; ++i) indices[column.column.values.first_row + i] = static_cast<std::int16_t>(i % 4);
  column.dictionary->column.values = as_column(first);
  column.dictionary->cells.assign(first.size(), {});
  column.column.values.num_dictionary_rows = first.size();
  source.later_dictionary = std::make_unique<table_column>();
  source.later_dictionary->column.values = as_column(later);
  source.later_dictionary->cells.resize(later.size());
  std::vector<float> expected;
  for (int i = 0; i < 10; ++i) expected.push_back((i < 4 ? first : later)[static_cast<std::size_t>(i % 4)]);
  std::stable_sort(expected.begin(), expected.end());
  sorted_stream sorted;
  sorted.sort(source, 1, {.memory_limit_bytes = little_memory});
  std::uint64_t num_rows = 0;
  for_cells(
      sorted.stream,
      [&](std::uint64_t, const column_span& read, std::uint64_t row, std::uint64_t place) {
        EXPECT_EQ(cell_at(read, row).number, static_cast<double>(expected.at(place)));
      },
      num_rows);
  EXPECT_EQ(num_rows, expected.size());
}

TEST(TableStream, ASmallFirstBatchDoesNotSayHowLargeBlocksAre) {
  random_words random(seed_for(26));
  constexpr std::uint64_t num_rows = 4'000;
  arrow_source source;
  source.columns.push_back(make_column({.type = key_type::u64, .contents = table_contents::extreme}, num_rows, random));
  source.chunk_ends = {1, num_rows};
  sorted_stream sorted;
  sorted.sort(source, 1, {.memory_limit_bytes = little_memory});
  // Five runs of 48 KiB, where a row takes 52 bytes, in sixteenths that take a page each, written once or twice.
  EXPECT_GE(sorted.report.num_runs, 5U);
  EXPECT_LE(sorted.report.num_runs, 12U);
  EXPECT_LE(sorted.report.spilled_bytes, std::uint64_t{12} * 24 * 4096);
  expect_rows(sorted, source, expected_order(source.columns, num_rows));
}

TEST(TableStream, BatchesAreGivenBackAsTheyAreRead) {
  random_words random(seed_for(27));
  constexpr std::uint64_t num_rows = 500;
  arrow_source source = make_source(random, 4, num_rows, 20);
  std::int64_t most_unreleased = 0;
  const auto watch = [&](const progress&) {
    most_unreleased = std::max(most_unreleased, source.num_unreleased);
    return true;
  };
  sorted_stream sorted;
  sorted.sort(source, 4, {.memory_limit_bytes = std::uint64_t{1} << 24, .on_progress = watch});
  EXPECT_EQ(sorted.report.num_runs, 0U);
  // The schema stays, with a dictionary's in some columns.
  EXPECT_LE(most_unreleased, 1 + 2 * 4);
  expect_rows(sorted, source, expected_order(source.columns, num_rows));
}

/// Open files of this process, those without a name among them.
std::size_t num_open_files() {
  std::size_t num_files = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    static_cast<void>(entry);
    ++num_files;
  }
  return num_files;
}

TEST(TableStream, NothingIsLeftWhateverEndsIt) {
  random_words random(seed_for(24));
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("table_stream." + std::to_string(::getpid()));
  std::filesystem::create_directory(folder);
  const table_stream_options streaming{.temporary_directories = {folder.string()}};
  arrow_source source = make_source(random, 2, 20'000, 3'000);
  const std::size_t num_files_before = num_open_files();
  {
    sorted_stream abandoned;
    abandoned.sort(source, 2, {.memory_limit_bytes = little_memory}, streaming);
    EXPECT_GT(abandoned.report.num_runs, 0U);
    EXPECT_GT(num_open_files(), num_files_before);
    ArrowArray batch{};
    ASSERT_EQ(abandoned.stream.get_next(&abandoned.stream, &batch), 0);
    batch.release(&batch);
    EXPECT_TRUE(std::filesystem::is_empty(folder));
  }
  EXPECT_EQ(num_open_files(), num_files_before);
  source.error_after_chunks = "the disk is on fire";
  sorted_stream sorted;
  EXPECT_THROW(sorted.sort(source, 2, {.memory_limit_bytes = little_memory}, streaming), bad_input);
  source.error_after_chunks.clear();
  int num_asked = 0;
  const auto cancel = [&](const progress&) { return ++num_asked < 5; };
  EXPECT_THROW(sorted.sort(source, 2, {.memory_limit_bytes = little_memory, .on_progress = cancel}, streaming),
               cancelled);
  EXPECT_EQ(num_open_files(), num_files_before);
  EXPECT_EQ(source.num_unreleased, 0);
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  std::filesystem::remove(folder);
  EXPECT_THROW(sorted.sort(source, 2, {.memory_limit_bytes = little_memory}, streaming), io_error);
  EXPECT_EQ(source.num_unreleased, 0);
}

TEST(TableStream, WrongArgumentsAreRefusedAndTheSourceReleased) {
  random_words random(seed_for(25));
  arrow_source source = make_source(random, 2, 10, 5);
  const auto refused = [&](const char* name, const sort_options& options) {
    ArrowArrayStream input = stream_of(source);
    ArrowArrayStream output{};
    const arrow_key by[] = {{name}};
    EXPECT_THROW(sort_stream(&input, by, &output, {}, options), invalid_argument);
    EXPECT_EQ(output.release, nullptr);
    EXPECT_EQ(source.num_unreleased, 0);
  };
  ArrowArrayStream input = stream_of(source);
  const arrow_key by[] = {{"0"}};
  EXPECT_THROW(sort_stream(&input, by, nullptr), invalid_argument);
  EXPECT_EQ(input.release, nullptr);
  refused("price", {});
  refused("0", {.memory_limit_bytes = 1000});
  refused("0", {.threads = 1'000'000});
}

}  // namespace
}  // namespace spansort::test
