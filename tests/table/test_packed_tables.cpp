// SPDX-License-Identifier: Apache-2.0
// Tables of several columns of numbers that are all keys: their rows are sorted as numbers where they fit 64 bits.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <string>

#include "arrow_producer.hpp"
#include "keys/dispatch.hpp"
#include "spansort/spansort.hpp"
#include "support/raised_limit.hpp"

namespace spansort::test {
namespace {

/// Integers without nulls are packed, floats may be.
bool may_be_packed(const table_column& column) {
  return column.column.values.kind == column_kind::number &&
         std::ranges::none_of(column.cells, [](const cell& c) { return c.is_null; });
}

/// Bits of the differences to the least integer.
unsigned num_bits_of(const table_column& column) {
  const auto [least, greatest] = std::ranges::minmax(column.cells, {}, &cell::integer);
  return static_cast<unsigned>(std::bit_width(static_cast<std::uint64_t>(greatest.integer - least.integer)));
}

/// A column of numbers, few of which have nulls.
std::unique_ptr<table_column> make_numbers(random_words& random, std::uint64_t num_rows) {
  column_case c = arrow_column_case(random);
  c.kind = column_kind::number;
  c.type = static_cast<key_type>(random() % 12);
  if (c.type == key_type::bf16) c.type = key_type::u16;
  if (c.contents == table_contents::null) c.contents = table_contents::few;
  c.has_nulls = random() % 8 == 0;
  return make_column(c, num_rows, random);
}

/// A report tells of the rows, and of all that the call has done.
void expect_report_of_packed(const sort_report& report, std::uint64_t num_rows, std::uint64_t num_keys) {
  EXPECT_EQ(report.num_open, 0U);
  EXPECT_EQ(report.num_keys, num_rows);
  EXPECT_EQ(report.key_type, "rows by " + std::to_string(num_keys) + " columns");
  std::vector<std::string> names;
  double in_phases_ms = 0;
  for (const phase_report& phase : report.phases) {
    names.push_back(phase.name);
    in_phases_ms += phase.elapsed_ms;
  }
  for (const char* const name : {"read columns", "pack rows", "unpack rows"}) {
    EXPECT_EQ(std::ranges::count(names, name), 1) << name;
  }
  EXPECT_GT(report.phases.size(), 3U) << "the sort has phases of its own";
  EXPECT_GE(report.elapsed_ms, in_phases_ms);
}

/// Tables all of whose columns are keys, in any order and some of them twice, are sorted as numbers where a row fits
/// one, which the report tells, and have the same rows in any case; so have those with a column that is no key.
TEST(PackedTables, HaveTheRowsOfTheOrderByAllTheirKeys) {
  random_words random(seed_for(23));
  std::uint64_t num_packed = 0;
  std::uint64_t num_ordered = 0;
  constexpr std::uint64_t most_cases = 400;
  const auto goes_on = [&](std::uint64_t i) {
    return i < num_cases(most_cases) || ((num_packed == 0 || num_ordered == 0) && i < most_cases);
  };
  for (std::uint64_t i = 0; goes_on(i) && !HasFatalFailure(); ++i) {
    const std::uint64_t num_rows = 1 + random() % 500;
    const std::uint64_t num_columns = 2 + random() % 3;
    arrow_source source;
    for (std::uint64_t c = 0; c < num_columns; ++c) source.columns.push_back(make_numbers(random, num_rows));
    source.chunk_ends.push_back(num_rows);
    const arrow_table table = read(source);

    std::vector<std::uint64_t> key_columns = all_rows(num_columns);
    for (std::uint64_t c = num_columns - 1; c > 0; --c) std::swap(key_columns[c], key_columns[random() % (c + 1)]);
    const bool is_all_keys = random() % 4 != 0;
    if (!is_all_keys) key_columns.pop_back();
    std::vector<std::string> names;
    for (std::uint64_t c = 0; c < num_columns; ++c) names.push_back(std::to_string(c));
    std::vector<arrow_key> by;
    for (const std::uint64_t c : key_columns) by.push_back({names[c], source.columns[c]->column.order});
    if (random() % 4 == 0) by.push_back(by.front());

    bool is_packed = is_all_keys;
    bool has_floats = false;
    unsigned num_bits = 0;
    std::vector<std::unique_ptr<table_column>> keys;
    for (const std::uint64_t c : key_columns) {
      const table_column& column = *source.columns[c];
      is_packed = is_packed && may_be_packed(column);
      has_floats = has_floats || column.is_float;
      num_bits += num_bits_of(column);
      keys.push_back(std::move(source.columns[c]));
    }
    const std::vector<std::uint64_t> order = expected_order(keys, num_rows);
    for (std::uint64_t k = 0; k < keys.size(); ++k) source.columns[key_columns[k]] = std::move(keys[k]);

    sort_report report;
    expect_rows(sort_table(table, by, {.report = &report}), source, order);
    if (is_packed && has_floats) continue;  // their bits depend on what the library counts as a tie
    is_packed = is_packed && num_bits <= 64;
    EXPECT_EQ(report.operation, is_packed ? "sort_table" : "argsort_table") << "case " << i;
    if (is_packed) expect_report_of_packed(report, num_rows, by.size());
    ++(is_packed ? num_packed : num_ordered);
  }
  EXPECT_GT(num_packed, 0U);
  EXPECT_GT(num_ordered, 0U);
}

/// A column of numbers whose greatest differs from the least in `num_bits` bits.
struct spanned_column {
  key_type type = key_type::u64;
  unsigned num_bits = 0;
};
using spanned_columns = std::vector<spanned_column>;

unsigned num_bits_of(const spanned_columns& columns) {
  unsigned num_bits = 0;
  for (const spanned_column& column : columns) num_bits += column.num_bits;
  return num_bits;
}

/// Rows of 32 bits, the widest that are sorted as numbers of 4 bytes.
const spanned_columns columns_of_32_bits[] = {
    {{key_type::u32, 32}, {key_type::u8, 0}},
    {{key_type::i8, 0}, {key_type::i32, 32}},
    {{key_type::u64, 31}, {key_type::i8, 1}},
    {{key_type::i16, 16}, {key_type::u16, 16}},
    {{key_type::u8, 8}, {key_type::i64, 9}, {key_type::i16, 15}},
};
/// Rows of 64 bits, the widest that are packed.
const spanned_columns columns_of_64_bits[] = {
    {{key_type::u64, 64}, {key_type::i8, 0}},
    {{key_type::u16, 0}, {key_type::i64, 64}},
    {{key_type::i64, 63}, {key_type::u8, 1}},
    {{key_type::i16, 1}, {key_type::u64, 63}},
    {{key_type::i32, 32}, {key_type::u32, 32}},
    {{key_type::u64, 33}, {key_type::i32, 31}},
    {{key_type::i8, 8}, {key_type::u16, 16}, {key_type::i32, 32}, {key_type::i64, 8}},
};

/// The columns and one more, of one bit, anywhere among them.
spanned_columns one_bit_more(spanned_columns columns, random_words& random) {
  const auto place = static_cast<std::ptrdiff_t>(random.below(columns.size() + 1));
  columns.insert(columns.begin() + place, {key_type::i8, 1});
  return columns;
}

column_order random_order(random_words& random) {
  return {.order = static_cast<direction>(random.below(2)), .nulls = static_cast<null_order>(random.below(2))};
}

/// Integers in any part of the type's range. Many are the least or the greatest, so that the columns behind decide.
std::unique_ptr<table_column> make_integers(const spanned_column& c, std::uint64_t num_rows, random_words& random) {
  const auto all_bits = static_cast<unsigned>(8 * size_bytes(c.type));
  const auto low_bits = [](unsigned num_bits) { return num_bits == 0 ? 0 : ~std::uint64_t{0} >> (64 - num_bits); };
  // As many bits tell the difference when only the highest of them is set.
  std::uint64_t span = low_bits(c.num_bits);
  if (random.below(2) == 0) span -= span / 2;
  const std::uint64_t room = low_bits(all_bits) - span;
  const std::uint64_t least = room == 0 ? 0 : random.below(room);
  std::vector<std::uint64_t> numbers(num_rows);
  for (std::uint64_t& number : numbers) {
    const std::uint64_t choices[] = {0, span, span == ~std::uint64_t{0} ? random() : random.below(span + 1)};
    number = least + choices[random.below(3)];
  }
  if (num_rows > 1) {
    const std::uint64_t place = random.below(num_rows);
    numbers[place] = least;
    numbers[(place + 1 + random.below(num_rows - 1)) % num_rows] = least + span;
  }
  auto made = std::make_unique<table_column>();
  made->column = {{.type = c.type}, random_order(random)};
  made->values.resize(num_rows * size_bytes(c.type));
  keys::with_type(c.type, [&]<class T>() {
    if constexpr (std::is_integral_v<T>) {
      for (std::uint64_t row = 0; row < num_rows; ++row) {
        // The least of a signed type is its lowest.
        const auto value = static_cast<T>(numbers[row] + static_cast<std::uint64_t>(std::numeric_limits<T>::min()));
        std::memcpy(made->values.data() + row * sizeof(T), &value, sizeof(T));
        made->cells.emplace_back().integer = value;
      }
    }
  });
  made->column.values.values = made->values.data();
  return made;
}

arrow_source make_packed_source(const spanned_columns& columns, std::uint64_t num_rows, random_words& random) {
  arrow_source source;
  for (const spanned_column& column : columns) source.columns.push_back(make_integers(column, num_rows, random));
  source.chunk_ends.push_back(num_rows);
  return source;
}

/// Gives the column a bit a row; that of `null_row` is 0 where there is such a row.
void give_validity(table_column& column, std::uint64_t null_row) {
  column.validity.assign(column.cells.size() / 8 + 1, 0xff);
  if (null_row < column.cells.size()) {
    column.validity[null_row / 8] = static_cast<std::uint8_t>(~(1U << null_row % 8));
    column.cells[null_row].is_null = true;
  }
  column.column.values.validity = column.validity.data();
}

constexpr std::uint64_t fixed_bytes = std::uint64_t{12} << 20;  // that sort() says it takes on one thread for no keys
constexpr std::string_view column_names[] = {"0", "1", "2", "3", "4"};

arrow_table sort_by_all(const arrow_table& table, const arrow_source& source, const sort_options& options) {
  std::vector<arrow_key> by;
  for (const auto& column : source.columns) by.push_back({column_names[by.size()], column->column.order});
  return sort_table(table, by, options);
}

/// Returns how many bytes a packed row takes, as the report tells; 0 where rows were ordered another way.
std::uint64_t packed_bytes(const sort_report& report, const arrow_source& source, std::uint64_t num_rows) {
  const auto phase = std::ranges::find(report.phases, "pack rows", &phase_report::name);
  if (phase == report.phases.end()) return 0;
  std::uint64_t value_bytes = 0;
  for (const auto& column : source.columns) value_bytes += size_bytes(column->column.values.type);
  return phase->bytes_moved / num_rows - value_bytes;
}

/// Sorts the source by all of its columns, and returns how many bytes a packed row took.
std::uint64_t expect_sorted_rows(arrow_source& source, std::uint64_t num_rows) {
  sort_report report;
  {
    const arrow_table table = read(source);
    const arrow_table sorted = sort_by_all(table, source, {.report = &report});
    expect_rows(sorted, source, expected_order(source.columns, num_rows));
    expect_rows(table, source, all_rows(num_rows));
  }
  EXPECT_EQ(source.num_unreleased, 0);
  const std::uint64_t bytes = packed_bytes(report, source, num_rows);
  EXPECT_EQ(report.operation, bytes == 0 ? "argsort_table" : "sort_table");
  if (bytes != 0) expect_report_of_packed(report, num_rows, source.columns.size());
  return bytes;
}

/// The widest rows that fit a number, and those of one bit more; in all directions, of two rows and of many.
TEST(PackedTables, OneBitMoreTakesWiderNumbersOrTheOtherWay) {
  random_words random(seed_for(31));
  const auto expect_packed = [&](const spanned_columns& columns) {
    const unsigned num_bits = num_bits_of(columns);
    const std::uint64_t bytes = num_bits <= 32 ? 4 : num_bits <= 64 ? 8 : 0;
    for (const std::uint64_t num_rows : {2, 3, 300}) {
      SCOPED_TRACE(std::to_string(num_rows) + " rows of " + std::to_string(num_bits) + " bits");
      arrow_source source = make_packed_source(columns, num_rows, random);
      EXPECT_EQ(expect_sorted_rows(source, num_rows), bytes);
    }
  };
  for (std::uint64_t i = 0; i < num_cases(20) && !HasFailure(); ++i) {
    for (const spanned_columns& columns : columns_of_32_bits) {
      expect_packed(columns);
      expect_packed(one_bit_more(columns, random));
    }
    for (const spanned_columns& columns : columns_of_64_bits) {
      expect_packed(columns);
      expect_packed(one_bit_more(columns, random));
    }
  }
}

/// A column that may have nulls and has none is packed as any other; one null row, the first, the last or one between,
/// is not.
TEST(PackedTables, ANullAtAnyWidthTakesTheOtherWay) {
  random_words random(seed_for(32));
  for (std::uint64_t i = 0; i < num_cases(20) && !HasFailure(); ++i) {
    for (const spanned_columns& columns : columns_of_64_bits) {
      const std::uint64_t num_rows = 2 + random.below(200);
      const std::uint64_t last = num_rows - 1;
      for (const std::uint64_t null_row : {num_rows, std::uint64_t{0}, random.below(num_rows), last}) {
        SCOPED_TRACE(std::to_string(num_rows) + " rows, null: " + std::to_string(null_row));
        arrow_source source = make_packed_source(columns, num_rows, random);
        give_validity(*source.columns[random.below(columns.size())], null_row);
        EXPECT_EQ(expect_sorted_rows(source, num_rows), null_row == num_rows ? 8 : 0);
      }
    }
  }
}

/// Floats from the lowest to the highest take all bits that they have.
TEST(PackedTables, FloatsArePackedUpTo64Bits) {
  random_words random(seed_for(33));
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const double numbers[] = {-infinity, infinity, 0.0, -1.5, 3e300, -2e-310};
  for (const unsigned num_bits_behind : {0U, 1U}) {
    for (const direction d : {direction::ascending, direction::descending}) {
      arrow_source source =
          make_packed_source({{key_type::u64, 0}, {key_type::i8, num_bits_behind}}, std::size(numbers), random);
      table_column& floats = *source.columns.front();
      floats.is_float = true;
      floats.column.values.type = key_type::f64;
      floats.column.order.order = d;
      std::memcpy(floats.values.data(), numbers, sizeof(numbers));
      for (std::size_t row = 0; row < std::size(numbers); ++row) {
        floats.cells[row] = {};
        floats.cells[row].number = numbers[row];
      }
      EXPECT_EQ(expect_sorted_rows(source, std::size(numbers)), num_bits_behind == 0 ? 8 : 0);
    }
  }
}

/// All numbers of a column are equal where there is no row or one, and nothing is left to pack: columns of any number
/// and type do, with the memory that a sort of no keys takes.
TEST(PackedTables, NoRowsAndOneRow) {
  random_words random(seed_for(34));
  const spanned_columns columns[] = {{{key_type::u64}, {key_type::i64}},
                                     {{key_type::u8}, {key_type::i32}},
                                     {{key_type::u64}, {key_type::i64}, {key_type::u64}, {key_type::i16}}};
  for (const spanned_columns& of_table : columns) {
    for (const std::uint64_t num_rows : {0, 1}) {
      for (const bool is_null : {false, true}) {
        SCOPED_TRACE(std::to_string(num_rows) + " rows" + (is_null ? ", null" : ""));
        arrow_source source = make_packed_source(of_table, num_rows, random);
        give_validity(*source.columns.back(), is_null ? 0 : num_rows);
        sort_report report;
        const arrow_table sorted = sort_by_all(
            read(source), source, {.threads = 1, .memory_limit_bytes = num_rows * 16 + fixed_bytes, .report = &report});
        expect_rows(sorted, source, all_rows(num_rows));
        const bool is_packed = !is_null || num_rows == 0;
        EXPECT_EQ(report.operation, is_packed ? "sort_table" : "argsort_table");
        EXPECT_EQ(report.num_keys, num_rows);
      }
    }
  }
}

/// Too little memory is told before a row is moved, as little as it may be; what sort_table() says that it takes is
/// enough, and so is what the report says. Between them either may be, but no sort takes more than it may.
TEST(PackedTables, KeepACeilingOnMemory) {
  random_words random(seed_for(35));
  constexpr std::uint64_t num_rows = 100'000;
  for (const spanned_columns& columns : {columns_of_32_bits[2], columns_of_64_bits[2]}) {
    arrow_source source = make_packed_source(columns, num_rows, random);
    const arrow_table table = read(source);
    const std::vector<std::uint64_t> order = expected_order(source.columns, num_rows);
    const std::uint64_t words_bytes = num_rows * num_bits_of(columns) / 8;
    sort_report report;
    const auto is_enough = [&](std::uint64_t limit_bytes) {
      SCOPED_TRACE("of " + std::to_string(limit_bytes) + " bytes");
      try {
        const arrow_table sorted =
            sort_by_all(table, source, {.threads = 1, .memory_limit_bytes = limit_bytes, .report = &report});
        expect_rows(sorted, source, order);
        EXPECT_EQ(report.operation, "sort_table");
        EXPECT_LE(report.workspace_bytes, limit_bytes);
        return true;
      } catch (const out_of_memory& failure) {
        EXPECT_GE(failure.needed_bytes(), failure.available_bytes());
        EXPECT_LE(failure.available_bytes(), limit_bytes);
        EXPECT_EQ(report.num_open, 0U);
        expect_rows(table, source, all_rows(num_rows));
        return false;
      }
    };
    for (const std::uint64_t too_few : {std::uint64_t{1}, words_bytes - 1, words_bytes, words_bytes + 1}) {
      EXPECT_FALSE(is_enough(too_few));
    }
    std::uint64_t enough = 2 * words_bytes + fixed_bytes;
    EXPECT_TRUE(is_enough(enough));
    EXPECT_GT(report.workspace_bytes, words_bytes);
    enough = report.workspace_bytes;
    EXPECT_TRUE(is_enough(enough));
    expect_enough_when_raised([&](std::uint64_t limit_bytes) {
      expect_rows(sort_by_all(table, source, {.threads = 1, .memory_limit_bytes = limit_bytes}), source, order);
    });
    for (int i = 0; i < 8; ++i) static_cast<void>(is_enough(words_bytes + random.below(enough - words_bytes)));
  }
}

}  // namespace
}  // namespace spansort::test
