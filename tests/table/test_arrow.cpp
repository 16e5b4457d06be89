// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "arrow_producer.hpp"
#include "spansort/spansort.hpp"

namespace spansort::test {
namespace {

arrow_source make_source(random_words& random, std::uint64_t num_columns, std::uint64_t num_rows) {
  arrow_source source;
  for (std::uint64_t i = 0; i < num_columns; ++i) {
    for (;;) {
      source.columns.push_back(make_column(arrow_column_case(random), num_rows, random));
      const table_column* const dictionary = source.columns.back()->dictionary.get();
      if (dictionary == nullptr || arrow_format(dictionary->column.values) != "?") break;
      source.columns.pop_back();
    }
  }
  for (std::uint64_t end = 0; end < num_rows;) {
    end = random() % 3 == 0 ? num_rows : end + random() % (num_rows - end + 1);
    source.chunk_ends.push_back(end);
  }
  return source;
}

/// Hands a table to another and back.
arrow_table sent(const arrow_table& table) {
  ArrowArrayStream stream{};
  table.export_to(&stream);
  return arrow_table(&stream);
}

TEST(Arrow, TablesAreReadSortedAndHandedOut) {
  random_words random(seed_for(11));
  for (std::uint64_t i = 0; i < num_cases(400) && !HasFatalFailure(); ++i) {
    const std::uint64_t num_rows = random() % 4 == 0 ? random() % 4 : random() % 400;
    arrow_source source = make_source(random, 1 + random() % 4, num_rows);
    {
      const arrow_table table = read(source);
      expect_rows(table, source, all_rows(num_rows));
      std::vector<std::string> names;
      for (std::size_t c = 0; c < source.columns.size(); ++c) names.push_back(std::to_string(c));
      std::vector<arrow_key> by;
      for (std::size_t c = 0; c < names.size(); ++c) by.push_back({names[c], source.columns[c]->column.order});
      const arrow_table sorted = sent(sort_table(table, by));
      expect_rows(sorted, source, expected_order(source.columns, num_rows));
    }
    ASSERT_EQ(source.num_unreleased, 0) << "case " << i;
  }
}

/// A table that is nothing but its key is sorted without an order of rows, which the report tells, and has the same
/// rows.
TEST(Arrow, ATableOfOneKeyIsSortedAlone) {
  random_words random(seed_for(21));
  std::uint64_t num_alone = 0;
  constexpr std::uint64_t most_cases = 300;
  // Few cases may have no column that is sorted alone.
  const auto goes_on = [&](std::uint64_t i) { return i < num_cases(most_cases) || (num_alone == 0 && i < most_cases); };
  for (std::uint64_t i = 0; goes_on(i) && !HasFatalFailure(); ++i) {
    const std::uint64_t num_rows = random() % 500;
    arrow_source source = make_source(random, 1, num_rows);
    const table_column& column = *source.columns.front();
    bool is_plain = column.column.values.kind == column_kind::number && !column.is_float;
    for (const cell& c : column.cells) is_plain = is_plain && !c.is_null;
    const arrow_table table = read(source);
    // A second key of the same order decides nothing; another order may tell zeros apart that tie by the first.
    const arrow_key by[] = {{"0", column.column.order}, {"0", column.column.order}};
    sort_report report;
    const arrow_table sorted = sort_table(table, by, {.report = &report});
    expect_rows(sorted, source, expected_order(source.columns, num_rows));
    if (is_plain) {
      EXPECT_EQ(report.operation, "sort_table") << "case " << i;
      ++num_alone;
    }
    const bool may_be_alone = is_plain || column.is_float;
    if (!may_be_alone && num_rows != 0) {
      EXPECT_EQ(report.operation, "argsort_table") << "case " << i;
    }
  }
  EXPECT_GT(num_alone, 0U);
}

std::vector<std::uint64_t> order_of_first(arrow_source& source, std::uint64_t num_rows) {
  std::vector<std::unique_ptr<table_column>> first;
  first.push_back(std::move(source.columns.front()));
  std::vector<std::uint64_t> order = expected_order(first, num_rows);
  source.columns.front() = std::move(first.front());
  return order;
}

arrow_source make_source_of(random_words& random, const std::vector<column_case>& columns, std::uint64_t num_rows) {
  arrow_source source;
  for (const column_case& column : columns) source.columns.push_back(make_column(column, num_rows, random));
  source.chunk_ends.push_back(num_rows);
  return source;
}

/// Progress as a callback sees it, which ends the call when it has been called more than `allowed` times.
struct impatient {
  unsigned allowed = 0;
  std::vector<double> fractions = {};

  progress_callback callback() {
    fractions.clear();
    return [this](const progress& p) {
      fractions.push_back(p.fraction);
      return fractions.size() <= allowed;
    };
  }
};

/// All ways of sorting a table, and taking its rows, are cancelled whenever they ask, and leave it as it was.
TEST(Arrow, CallsAreCancelledAndTellHowFarTheyAre) {
  random_words random(seed_for(22));
  constexpr std::uint64_t num_rows = 40'000;
  constexpr unsigned most_calls = 60;
  const std::vector<column_case> alone{{}};
  const std::vector<column_case> packed{{.type = key_type::u32}, {.type = key_type::i16}};
  const std::vector<column_case> too_wide_to_pack{{.type = key_type::u64}, {.type = key_type::i16}};
  const std::vector<column_case> of_each{{}, {.kind = column_kind::bytes32}, {.kind = column_kind::boolean}};
  const std::vector<arrow_key> first{{"0", {}}};
  const std::vector<arrow_key> both{{"0", {}}, {"1", {}}};
  for (const std::vector<column_case>& columns : {alone, packed, too_wide_to_pack, of_each}) {
    const bool is_by_both = columns.size() == 2;
    const std::vector<arrow_key>& by = is_by_both ? both : first;
    for (const bool sorts : {true, false}) {
      arrow_source source = make_source_of(random, columns, num_rows);
      const arrow_table table = read(source);
      const std::vector<std::uint64_t> order =
          is_by_both ? expected_order(source.columns, num_rows) : order_of_first(source, num_rows);
      unsigned num_cancelled = 0;
      bool has_ended = false;
      for (impatient caller; !has_ended && caller.allowed < most_calls; ++caller.allowed) {
        try {
          const arrow_table result = sorts ? sort_table(table, by, {.on_progress = caller.callback()})
                                           : table.take(order, {.on_progress = caller.callback()});
          has_ended = caller.fractions.size() <= caller.allowed;
          EXPECT_EQ(caller.fractions.back(), 1);
          EXPECT_LT(caller.fractions.front(), 1);
          EXPECT_TRUE(std::ranges::is_sorted(caller.fractions));
          expect_rows(result, source, order);
        } catch (const cancelled&) {
          ++num_cancelled;
          EXPECT_EQ(caller.fractions.size(), caller.allowed + 1) << "it was asked again";
        }
      }
      EXPECT_TRUE(has_ended);
      EXPECT_GE(num_cancelled, 1U) << columns.size() << sorts;
      expect_rows(table, source, all_rows(num_rows));
    }
  }
}

/// -0.0 and 0.0 tie in a table, so that their order is that of the input: such floats are not sorted alone.
TEST(Arrow, FloatsThatTieAreNotSortedAlone) {
  for (const double odd : {-0.0, std::numeric_limits<double>::quiet_NaN(), 2.5}) {
    std::vector<double> values{0.0, odd, 1.5, -3.0};
    const void* buffers[] = {nullptr, values.data()};
    const void* of_table[] = {nullptr};
    const auto keep = [](auto* released) { released->release = nullptr; };
    ArrowArray child{.length = 4,
                     .null_count = 0,
                     .offset = 0,
                     .n_buffers = 2,
                     .n_children = 0,
                     .buffers = buffers,
                     .children = nullptr,
                     .dictionary = nullptr,
                     .release = keep,
                     .private_data = nullptr};
    ArrowArray* children[] = {&child};
    ArrowArray batch{.length = 4,
                     .null_count = 0,
                     .offset = 0,
                     .n_buffers = 1,
                     .n_children = 1,
                     .buffers = of_table,
                     .children = children,
                     .dictionary = nullptr,
                     .release = keep,
                     .private_data = nullptr};
    ArrowSchema type{.format = "g",
                     .name = "x",
                     .metadata = nullptr,
                     .flags = 0,
                     .n_children = 0,
                     .children = nullptr,
                     .dictionary = nullptr,
                     .release = keep,
                     .private_data = nullptr};
    ArrowSchema* types[] = {&type};
    ArrowSchema schema{.format = "+s",
                       .name = "",
                       .metadata = nullptr,
                       .flags = 0,
                       .n_children = 1,
                       .children = types,
                       .dictionary = nullptr,
                       .release = keep,
                       .private_data = nullptr};
    const arrow_table table(&schema, &batch);
    const arrow_key by[] = {{"x", {}}};
    sort_report report;
    const arrow_table sorted = sort_table(table, by, {.report = &report});
    EXPECT_EQ(report.operation, odd == 2.5 ? "sort_table" : "argsort_table");
    const auto* const first = static_cast<const double*>(sorted.column(0).values) + sorted.column(0).first_row;
    EXPECT_EQ(first[0], -3.0);
    EXPECT_FALSE(std::signbit(first[1]));
  }
}

TEST(Arrow, ColumnsMovedOutOfABatchOutliveIt) {
  random_words random(seed_for(12));
  arrow_source source = make_source(random, 2, 100);
  ArrowSchema schema{};
  ArrowArray batch{};
  read(source).export_to(&schema, &batch);
  ArrowArray moved = *batch.children[1];
  batch.children[1]->release = nullptr;
  batch.release(&batch);
  EXPECT_EQ(batch.release, nullptr);
  EXPECT_GT(source.num_unreleased, 0);
  EXPECT_EQ(moved.length, 100);
  moved.release(&moved);
  EXPECT_STREQ(schema.children[0]->name, "0");
  schema.release(&schema);
  EXPECT_EQ(source.num_unreleased, 0);
}

TEST(Arrow, ARecordBatchIsATable) {
  random_words random(seed_for(13));
  arrow_source source = make_source(random, 3, 50);
  {
    ArrowSchema schema{};
    ArrowArray batch{};
    read(source).export_to(&schema, &batch);
    const arrow_table table(&schema, &batch);
    EXPECT_EQ(batch.release, nullptr);
    expect_rows(table, source, all_rows(50));
    const std::vector<std::uint64_t> rows = {49, 0, 0, 7};
    expect_rows(table.take(rows), source, rows);
    EXPECT_THROW(static_cast<void>(table.take(std::vector<std::uint64_t>{50})), invalid_argument);
  }
  EXPECT_EQ(source.num_unreleased, 0);
}

TEST(Arrow, AFailingStreamIsReleasedAndItsReasonTold) {
  random_words random(seed_for(14));
  arrow_source source = make_source(random, 2, 60);
  source.error_after_chunks = "the disk is on fire";
  ArrowArrayStream stream = stream_of(source);
  try {
    const arrow_table table(&stream);
    FAIL();
  } catch (const bad_input& reason) {
    EXPECT_NE(std::string(reason.what()).find("the disk is on fire"), std::string::npos);
  }
  EXPECT_EQ(source.num_unreleased, 0);
}

TEST(Arrow, DictionariesOfChunksHaveToBeTheSame) {
  random_words random(seed_for(15));
  const column_case c{.kind = column_kind::dictionary, .type = key_type::i32, .contents = table_contents::many};
  arrow_source first;
  first.columns.push_back(make_column(c, 10, random));
  first.chunk_ends = {4, 10};
  EXPECT_EQ(read(first).num_rows(), 10U);
  const auto with_later = [&](const std::vector<float>& values) {
    first.later_dictionary = std::make_unique<table_column>();
    first.later_dictionary->column.values = as_column(values);
    first.later_dictionary->cells.resize(values.size());
    ArrowArrayStream stream = stream_of(first);
    return arrow_table(&stream).num_rows();
  };
  std::vector<float> values(128);
  std::iota(values.begin(), values.end(), 0.0F);
  first.columns[0]->dictionary->column.values = as_column(values);
  first.columns[0]->dictionary->cells.resize(values.size());
  std::vector<float> others = values;
  EXPECT_EQ(with_later(others), 10U);
  others[100] = -0.0F;
  EXPECT_THROW(with_later(others), invalid_argument);
  others.pop_back();
  EXPECT_THROW(with_later(others), invalid_argument);
  EXPECT_EQ(first.num_unreleased, 0);
}

TEST(Arrow, DictionariesOfChunksMayBePartsOfOne) {
  random_words random(seed_for(17));
  arrow_source source;
  source.columns.push_back(make_column(
      {.kind = column_kind::dictionary, .type = key_type::u8, .contents = table_contents::few}, 10, random));
  source.chunk_ends = {5, 10};
  const std::vector<float> values = {1, 2, 3, 4, 5, 6};
  for (const bool is_later : {false, true}) {
    table_column& part =
        is_later ? *(source.later_dictionary = std::make_unique<table_column>()) : *source.columns[0]->dictionary;
    part.column.values = as_column(values);
    part.column.values.first_row = is_later ? 3 : 0;
    part.cells.assign(3, {});
  }
  ArrowArrayStream stream = stream_of(source);
  EXPECT_THROW(arrow_table{&stream}, invalid_argument);
}

TEST(Arrow, ViewsKeepTheTableThatTheyCameWithAndNoneBetween) {
  random_words random(seed_for(18));
  arrow_source source;
  source.columns.push_back(make_column({.kind = column_kind::byte_views}, 20, random));
  source.chunk_ends = {7, 20};
  {
    arrow_table table = read(source);
    const std::vector<std::uint64_t> rows = all_rows(20);
    for (int i = 0; i < 100'000; ++i) table = table.take(rows);  // a chain of as many owners would end the stack
    expect_rows(table, source, rows);
    EXPECT_GT(source.num_unreleased, 0);
  }
  EXPECT_EQ(source.num_unreleased, 0);
}

TEST(Arrow, UnknownTypesAndNamesAreRefused) {
  random_words random(seed_for(16));
  arrow_source source;
  source.columns.push_back(make_column({.type = key_type::bf16}, 5, random));
  source.chunk_ends = {5};
  ArrowArrayStream stream = stream_of(source);
  EXPECT_THROW(arrow_table{&stream}, invalid_argument);
  EXPECT_EQ(source.num_unreleased, 0);
  EXPECT_THROW(arrow_table{&stream}, invalid_argument);  // released
  source.columns[0] = make_column({.type = key_type::f32}, 5, random);
  const arrow_table table = read(source);
  EXPECT_EQ(table.column_name(0), "0");
  EXPECT_THROW(static_cast<void>(table.column_number("price")), invalid_argument);
  EXPECT_THROW(static_cast<void>(table.column(1)), invalid_argument);
}

}  // namespace
}  // namespace spansort::test
