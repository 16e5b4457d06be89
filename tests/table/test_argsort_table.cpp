// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "spansort/spansort.hpp"
#include "support/raised_limit.hpp"
#include "table_case.hpp"

namespace spansort::test {
namespace {

using columns_of_table = std::vector<std::unique_ptr<table_column>>;

std::vector<sort_column> by_of(const columns_of_table& columns) {
  std::vector<sort_column> by;
  for (const auto& column : columns) by.push_back(column->column);
  return by;
}

void expect_sorted(const columns_of_table& columns, std::uint64_t num_rows, const sort_options& options = {}) {
  const std::vector<std::uint64_t> expected = expected_order(columns, num_rows);
  ASSERT_EQ(argsort_table(by_of(columns), num_rows, options), expected);
  std::vector<std::int32_t> narrow(num_rows);
  argsort_table(by_of(columns), narrow, options);
  ASSERT_TRUE(std::equal(narrow.begin(), narrow.end(), expected.begin(), expected.end(),
                         [](std::int32_t a, std::uint64_t b) { return static_cast<std::uint64_t>(a) == b; }));
}

void try_columns(const std::vector<column_case>& cases, std::uint64_t num_rows, random_words& random) {
  std::string description = fmt::format("{} rows by", num_rows);
  columns_of_table columns;
  for (const column_case& c : cases) {
    columns.push_back(make_column(c, num_rows, random));
    description += describe(c);
  }
  SCOPED_TRACE(description);
  expect_sorted(columns, num_rows);
}

TEST(ArgsortTable, EveryKindAndOrderAlone) {
  random_words random(seed_for(1));
  for (std::uint64_t i = 0; i < num_cases(1500) && !HasFatalFailure(); ++i) {
    column_case c = random_column_case(random);
    c.kind = static_cast<column_kind>(i % 8);
    c.contents = all_table_contents[i / 8 % 5];
    if (c.kind == column_kind::dictionary) c.type = static_cast<key_type>(random() % 8);
    try_columns({c}, random() % 100, random);
  }
}

TEST(ArgsortTable, SeveralColumns) {
  random_words random(seed_for(2));
  constexpr std::uint64_t sizes[] = {0, 1, 2, 3, 17, 511, 512, 513, 2047, 2048, 2049, 6000};
  for (std::uint64_t i = 0; i < num_cases(300) && !HasFatalFailure(); ++i) {
    std::vector<column_case> cases(2 + random() % 5);
    for (column_case& c : cases) {
      c = random_column_case(random);
      if (random() % 2 == 0) c.contents = table_contents::few;  // otherwise the later columns decide nothing
    }
    try_columns(cases, sizes[random() % std::size(sizes)], random);
  }
}

TEST(ArgsortTable, ManyRowsAreSortedByAllThreads) {
  random_words random(seed_for(3));
  const std::uint64_t num_rows = is_small_scale() ? 40'000 : 150'000;  // groups of more than 2^15 rows, too
  for (const column_kind kind : {column_kind::number, column_kind::bytes32, column_kind::dictionary}) {
    try_columns({{.kind = column_kind::boolean, .contents = table_contents::few, .has_nulls = true},
                 {.kind = kind, .type = key_type::u8, .contents = table_contents::extreme, .has_nulls = true},
                 {.type = key_type::f64, .order = {.order = direction::descending}}},
                num_rows, random);
  }
}

TEST(ArgsortTable, LongStringsThatDifferLate) {
  random_words random(seed_for(4));
  table_column texts;
  texts.column.values = {.kind = column_kind::bytes64};
  std::vector<std::uint64_t> offsets = {0};
  std::string bytes;
  constexpr std::uint64_t num_rows = 500;
  for (std::uint64_t row = 0; row < num_rows; ++row) {
    cell value;
    value.bytes = std::string(1000 + random() % 3, static_cast<char>('a' + row % 2)) + std::to_string(random() % 50);
    bytes += value.bytes;
    offsets.push_back(bytes.size());
    texts.cells.push_back(value);
  }
  texts.column.values.values = bytes.data();
  texts.column.values.offsets = offsets.data();
  for (const direction d : {direction::ascending, direction::descending}) {
    columns_of_table columns;
    columns.push_back(std::make_unique<table_column>());
    columns[0]->column = {texts.column.values, {.order = d}};
    columns[0]->cells = texts.cells;
    expect_sorted(columns, num_rows);
  }
}

TEST(ArgsortTable, AColumnOfAllBitsAndNulls) {
  const std::vector<std::uint64_t> values = {~std::uint64_t{0}, 5, 0, 7, ~std::uint64_t{0}};
  const std::uint8_t validity = 0b10101;
  column_span column = as_column(values);
  column.validity = &validity;
  const auto order = [&](direction d, null_order nulls) {
    const sort_column by[] = {{column, {.order = d, .nulls = nulls}}};
    return argsort_table(by, values.size());
  };
  EXPECT_EQ(order(direction::ascending, null_order::last), (std::vector<std::uint64_t>{2, 0, 4, 1, 3}));
  EXPECT_EQ(order(direction::ascending, null_order::first), (std::vector<std::uint64_t>{1, 3, 2, 0, 4}));
  EXPECT_EQ(order(direction::descending, null_order::last), (std::vector<std::uint64_t>{0, 4, 2, 1, 3}));
}

TEST(ArgsortTable, NoColumnLeavesTheRowsAsTheyAre) {
  EXPECT_EQ(argsort_table({}, 4), (std::vector<std::uint64_t>{0, 1, 2, 3}));
  EXPECT_TRUE(argsort_table({}, 0).empty());
}

TEST(ArgsortTable, PresetsAreTheOrdersOfTheirSystems) {
  const double nan = std::nan("");
  const std::vector<double> values = {0.0, nan, -0.0, 1.0, -INFINITY, 3.0};
  const std::uint8_t validity = 0b011111;  // the last one is null
  column_span column = as_column(values);
  column.validity = &validity;
  const auto order = [&](table_preset preset, direction d) {
    const sort_column by[] = {{column, order_of(preset, d)}};
    return argsort_table(by, values.size());
  };
  using rows = std::vector<std::uint64_t>;
  EXPECT_EQ(order(table_preset::numpy, direction::ascending), (rows{4, 0, 2, 3, 1, 5}));
  EXPECT_EQ(order(table_preset::numpy, direction::descending), (rows{3, 0, 2, 4, 1, 5}));
  EXPECT_EQ(order(table_preset::pandas, direction::descending), (rows{3, 0, 2, 4, 1, 5}));
  EXPECT_EQ(order(table_preset::duckdb, direction::descending), (rows{1, 3, 0, 2, 4, 5}));
  EXPECT_EQ(order(table_preset::polars, direction::ascending), (rows{5, 4, 0, 2, 3, 1}));
  EXPECT_EQ(order(table_preset::polars, direction::descending), (rows{5, 1, 3, 0, 2, 4}));
  EXPECT_EQ(order(table_preset::datafusion, direction::ascending), (rows{4, 2, 0, 3, 1, 5}));
  EXPECT_EQ(order(table_preset::datafusion, direction::descending), (rows{5, 1, 3, 0, 2, 4}));
}

TEST(ArgsortTable, PresetsHaveNames) {
  for (const table_preset preset : {table_preset::numpy, table_preset::pandas, table_preset::duckdb,
                                    table_preset::polars, table_preset::datafusion}) {
    EXPECT_EQ(parse_table_preset(name(preset)), preset);
  }
  EXPECT_THROW(static_cast<void>(parse_table_preset("excel")), invalid_argument);
}

TEST(ArgsortTable, RefusesColumnsThatAreNone) {
  const std::vector<std::uint32_t> numbers = {1, 2, 3};
  const std::vector<std::uint32_t> falling = {0, 5, 4};
  const std::vector<std::uint32_t> negative = {0xfffffff0, 0xfffffff1, 0xfffffff2};
  const column_span dictionary = as_column(numbers);
  const std::vector<std::int8_t> outside = {0, 3};
  const std::vector<std::int8_t> below = {0, -1};
  const auto refuses = [](const column_span& column, column_order order = {}) {
    const sort_column by[] = {{column, order}};
    EXPECT_THROW(static_cast<void>(argsort_table(by, 2)), invalid_argument);
  };
  refuses({});
  refuses({.kind = static_cast<column_kind>(8), .values = numbers.data()});
  refuses({.type = static_cast<key_type>(12), .values = numbers.data()});
  refuses({.kind = column_kind::fixed_bytes, .values = numbers.data()});
  refuses({.kind = column_kind::fixed_bytes, .width_bytes = 1025, .values = numbers.data()});
  refuses({.kind = column_kind::bytes32, .values = numbers.data()});
  refuses({.kind = column_kind::bytes32, .values = numbers.data(), .offsets = falling.data()});
  refuses({.kind = column_kind::bytes32, .values = numbers.data(), .offsets = negative.data()});
  const std::vector<std::uint32_t> far = {0, 1U << 29, 5};
  refuses({.kind = column_kind::bytes32, .values = numbers.data(), .offsets = far.data()});
  refuses({.kind = column_kind::dictionary, .type = key_type::i8, .values = outside.data()});
  column_span of_dictionary{.kind = column_kind::dictionary,
                            .type = key_type::i8,
                            .values = outside.data(),
                            .dictionary = &dictionary,
                            .num_dictionary_rows = 3};
  refuses(of_dictionary);
  of_dictionary.values = below.data();
  refuses(of_dictionary);
  of_dictionary.type = key_type::f32;
  refuses(of_dictionary);
  const column_span nested = of_dictionary;
  of_dictionary.dictionary = &nested;
  refuses(of_dictionary);
  const std::int32_t views[] = {13, 0, 0, 1, 3, 0, 0, 0};  // 13 bytes from the second byte of buffer 0 on
  const void* const buffers[] = {numbers.data()};
  const std::int64_t sizes[] = {12};
  column_span of_views{.kind = column_kind::byte_views, .values = views};
  refuses(of_views);
  of_views.num_view_buffers = 1;
  refuses(of_views);
  of_views.view_buffers = buffers;
  of_views.view_buffer_bytes = sizes;
  refuses(of_views);
  refuses(as_column(numbers), {.nans = static_cast<nan_order>(3)});
}

TEST(ArgsortTable, MoreColumnsThanWordsAreNumberedForAreRefused) {
  constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
  const std::vector<std::int64_t> values = {least, std::numeric_limits<std::int64_t>::max(), least, 5};
  std::vector<sort_column> by(1 << 15, {as_column(values), {}});
  EXPECT_EQ(argsort_table(by, values.size()), (std::vector<std::uint64_t>{0, 2, 3, 1}));
  by.push_back(by.front());
  EXPECT_THROW(static_cast<void>(argsort_table(by, values.size())), invalid_argument);
}

TEST(ArgsortTable, KeepsACeilingOnMemoryAndReportsTheWhole) {
  std::vector<std::uint64_t> values(100'000);
  std::iota(values.rbegin(), values.rend(), 0);
  const sort_column by[] = {{as_column(values), {}}};
  EXPECT_THROW(static_cast<void>(argsort_table(by, values.size(), {.memory_limit_bytes = 100'000})), out_of_memory);
  sort_report report;
  static_cast<void>(argsort_table(by, values.size(), {.report = &report}));
  expect_enough_when_raised([&](std::uint64_t limit_bytes) {
    static_cast<void>(argsort_table(by, values.size(), {.memory_limit_bytes = limit_bytes}));
  });
  EXPECT_EQ(report.operation, "argsort_table");
  EXPECT_EQ(report.num_keys, values.size());
  EXPECT_GE(report.workspace_bytes, 8 * values.size());
}

TEST(ArgsortTable, CanBeCancelled) {
  std::vector<std::uint64_t> values(1 << 20);
  random_words random(seed_for(5));
  std::generate(values.begin(), values.end(), [&] { return random(); });
  const sort_column by[] = {{as_column(values), {}}};
  const sort_options options{.on_progress = [](const progress&) { return false; }};
  EXPECT_THROW(static_cast<void>(argsort_table(by, values.size(), options)), cancelled);
}

}  // namespace
}  // namespace spansort::test
