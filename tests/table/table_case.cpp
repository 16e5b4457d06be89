// SPDX-License-Identifier: Apache-2.0
#include "table_case.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <compare>
#include <cstring>
#include <limits>
#include <numeric>

#include "keys/codec.hpp"
#include "keys/dispatch.hpp"
#include "keys/number.hpp"

namespace spansort::test {
namespace {

constexpr std::uint32_t fixed_width = 11;
constexpr std::uint64_t dictionary_rows = 300;

/// A word of the kind that the contents ask for.
std::uint64_t random_word(table_contents contents, random_words& random) {
  switch (contents) {
    case table_contents::few: return random() % 3;
    case table_contents::extreme: {
      constexpr std::uint64_t top = std::uint64_t{1} << 63;
      const std::uint64_t words[] = {0, 1, top, top - 1, top + 1, ~std::uint64_t{0}, random()};
      return words[random() % 7];
    }
    case table_contents::equal: return 42;
    default: return random();
  }
}

std::string random_text(table_contents contents, random_words& random) {
  static const std::string prefixes[] = {"", "customer-", std::string("customer-\0", 10), "\xff\xff\xff\xff"};
  switch (contents) {
    case table_contents::equal: return "always this long one";
    case table_contents::few: return std::string(random() % 4, static_cast<char>('a' + random() % 2));
    case table_contents::extreme: {
      // Texts that differ late, or in zeros at their ends alone.
      std::string text = prefixes[random() % 4] + std::string(random() % 3 * 7, 'x');
      return text + std::string(random() % 3, '\0') + (random() % 2 == 0 ? "" : "y");
    }
    default: return prefixes[1] + fmt::format("{:x}", random() >> random() % 64);
  }
}

template <class T>
void append(std::vector<std::byte>& bytes, T value) {
  const std::size_t size = bytes.size();
  bytes.resize(size + sizeof(T));
  std::memcpy(bytes.data() + size, &value, sizeof(T));
}

void append_bit(std::vector<std::uint8_t>& bits, std::uint64_t place, bool bit) {
  if (place % 8 == 0) bits.push_back(0);
  bits.back() = static_cast<std::uint8_t>(bits.back() | (bit ? 1U : 0U) << place % 8);
}

template <class T>
cell number_cell(T value) {
  cell c;
  if constexpr (std::is_integral_v<T>) {
    c.integer = value;
  } else {
    c.number = keys::number_of(value);
  }
  return c;
}

/// Zeros, infinities and NaN of both signs: they are rare among random bits.
template <class T>
T special_float(key_type type, std::uint64_t choice) {
  using bits = std::conditional_t<sizeof(T) == 2, std::uint16_t,
                                  std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>;
  const auto codec = keys::key_codec{type}.of<bits>();
  const bits magnitudes[] = {0, codec.infinity, static_cast<bits>(codec.infinity + 1), codec.magnitude_mask};
  const auto sign = static_cast<bits>(choice % 2 == 0 ? 0 : ~codec.magnitude_mask);
  return std::bit_cast<T>(static_cast<bits>(magnitudes[choice / 2 % 4] | sign));
}

cell append_number(table_column& made, std::uint64_t word, std::uint64_t choice) {
  return keys::with_type(made.column.values.type, [&]<class T>() {
    T value;
    std::memcpy(&value, &word, sizeof(T));
    if constexpr (!std::is_integral_v<T>) {
      if (choice % 8 == 0) value = special_float<T>(made.column.values.type, choice / 8);
    }
    append(made.values, value);
    return number_cell(value);
  });
}

/// Texts of up to 12 bytes stand in the view itself; others stand in two buffers by turns.
void append_view(table_column& made, const std::string& text) {
  constexpr std::size_t most_inline = 12;
  std::array<char, 16> view{};
  const auto size = static_cast<std::int32_t>(text.size());
  std::memcpy(view.data(), &size, sizeof(size));
  std::memcpy(view.data() + 4, text.data(), std::min(text.size(), most_inline));
  if (text.size() > most_inline) {
    const std::int32_t number = made.values.size() / view.size() % 2 == 0 ? 0 : 1;
    std::string& buffer = made.view_bytes[number];
    const auto offset = static_cast<std::int32_t>(buffer.size());
    buffer += text;
    std::memcpy(view.data() + 8, &number, sizeof(number));
    std::memcpy(view.data() + 12, &offset, sizeof(offset));
  }
  append(made.values, view);
}

cell append_text(table_column& made, std::string text) {
  if (made.column.values.kind == column_kind::fixed_bytes) {
    text.insert(0, "..");
    text.resize(fixed_width);
  }
  if (made.column.values.kind == column_kind::byte_views) {
    append_view(made, text);
  } else {
    for (const char c : text) append(made.values, c);
  }
  cell c;
  c.bytes = std::move(text);
  return c;
}

void append_offset(table_column& made) {
  if (made.column.values.kind == column_kind::bytes32) {
    append(made.offsets, static_cast<std::uint32_t>(made.values.size()));
  } else {
    append(made.offsets, static_cast<std::uint64_t>(made.values.size()));
  }
}

cell append_index(table_column& made, std::uint64_t word, bool is_null) {
  const std::uint64_t most = std::min<std::uint64_t>(dictionary_rows, 127);
  const std::uint64_t index = is_null ? 255 : word % most;  // the index of a null is no row
  keys::with_width(static_cast<unsigned>(size_bytes(made.column.values.type)),
                   [&]<class K>() { append(made.values, static_cast<K>(index)); });
  return is_null ? cell{} : made.dictionary->cells[index];
}

/// Appends the value at `place` of the column's memory.
cell append_cell(table_column& made, const column_case& c, std::uint64_t place, bool is_null, random_words& random) {
  const std::uint64_t word = random_word(c.contents, random);
  switch (c.kind) {
    case column_kind::number: return append_number(made, word, c.contents == table_contents::equal ? 1 : random());
    case column_kind::boolean: {
      if (place % 8 == 0) append(made.values, std::uint8_t{0});
      const std::uint64_t bit = word % 2;
      made.values.back() |= static_cast<std::byte>(bit << place % 8);
      return number_cell(bit);
    }
    case column_kind::integer128: {
      const std::uint64_t high =
          c.contents == table_contents::many ? random() % 4 - 2 : random_word(c.contents, random);
      append(made.values, word);
      append(made.values, high);
      cell value;
      __extension__ using wide = unsigned __int128;
      value.integer = static_cast<decltype(value.integer)>(static_cast<wide>(high) << 64 | word);
      return value;
    }
    case column_kind::dictionary: return append_index(made, word, is_null);
    case column_kind::byte_views:
      if (!is_null) break;
      append(made.values, std::array<std::uint64_t, 2>{~std::uint64_t{0}, word});  // a null may hold anything
      return {};
    default: break;
  }
  return append_text(made, random_text(c.contents, random));
}

int compare_numbers(double a, double b, const column_order& order) {
  const int sign = order.order == direction::descending ? -1 : 1;
  if (std::isnan(a) || std::isnan(b)) {
    const int difference = int{std::isnan(a)} - int{std::isnan(b)};
    return order.nans == nan_order::last ? difference : sign * difference;
  }
  if (a < b) return -sign;
  if (a > b) return sign;
  const bool by_sign = order.zeros == zero_order::negative_first;
  return by_sign ? sign * (int{std::signbit(b)} - int{std::signbit(a)}) : 0;
}

int compare_cells(const cell& a, const cell& b, const table_column& column) {
  const column_order& order = column.column.order;
  const bool nan_is_null = column.is_float && order.nans == nan_order::null;
  const bool a_is_null = a.is_null || (nan_is_null && std::isnan(a.number));
  const bool b_is_null = b.is_null || (nan_is_null && std::isnan(b.number));
  if (a_is_null || b_is_null) {
    const int difference = int{a_is_null} - int{b_is_null};
    return order.nulls == null_order::last ? difference : -difference;
  }
  if (column.is_float) return compare_numbers(a.number, b.number, order);
  const int sign = order.order == direction::descending ? -1 : 1;
  if (a.integer != b.integer) return a.integer < b.integer ? -sign : sign;
  const int texts = a.bytes.compare(b.bytes);  // as memcmp, the shorter one first
  return texts == 0 ? 0 : (texts < 0 ? -sign : sign);
}

void point_at_view_buffers(table_column& made) {
  for (std::size_t i = 0; i < 2; ++i) {
    made.view_buffers[i] = made.view_bytes[i].data();
    made.view_buffer_bytes[i] = static_cast<std::int64_t>(made.view_bytes[i].size());
  }
  column_span& span = made.column.values;
  span.view_buffers = made.view_buffers;
  span.view_buffer_bytes = made.view_buffer_bytes;
  span.num_view_buffers = 2;
}

}  // namespace

std::unique_ptr<table_column> make_column(const column_case& c, std::uint64_t num_rows, random_words& random) {
  auto made = std::make_unique<table_column>();
  made->column = {{.kind = c.kind, .type = c.type, .width_bytes = fixed_width, .first_row = c.first_row}, c.order};
  made->is_float = c.kind == column_kind::number && keys::is_float(c.type);
  if (c.kind == column_kind::dictionary) {
    column_case of_values = random_column_case(random);
    if (of_values.kind == column_kind::dictionary) of_values.kind = column_kind::bytes32;
    of_values.order = c.order;
    made->dictionary = make_column(of_values, dictionary_rows, random);
    made->is_float = made->dictionary->is_float;
    made->column.values.dictionary = &made->dictionary->column.values;
    made->column.values.num_dictionary_rows = dictionary_rows;
  }
  const bool is_text = c.kind == column_kind::bytes32 || c.kind == column_kind::bytes64;
  if (is_text) append_offset(*made);
  for (std::uint64_t place = 0; place < c.first_row + num_rows; ++place) {
    const bool is_null = c.contents == table_contents::null || (c.has_nulls && random() % 5 == 0);
    cell value = append_cell(*made, c, place, is_null, random);
    value.is_null = value.is_null || is_null;
    append_bit(made->validity, place, !is_null);
    if (is_text) append_offset(*made);
    if (place >= c.first_row) made->cells.push_back(std::move(value));
  }
  column_span& span = made->column.values;
  span.values = made->values.data();
  if (is_text) span.offsets = made->offsets.data();
  if (c.kind == column_kind::byte_views) point_at_view_buffers(*made);
  if (c.has_nulls || c.contents == table_contents::null) span.validity = made->validity.data();
  return made;
}

column_case random_column_case(random_words& random) {
  column_case c;
  c.kind = static_cast<column_kind>(random() % 8);
  c.type = static_cast<key_type>(random() % 12);
  if (c.kind == column_kind::dictionary) c.type = static_cast<key_type>(random() % 8);
  c.contents = all_table_contents[random() % 5];
  c.order = {static_cast<direction>(random() % 2), static_cast<null_order>(random() % 2),
             static_cast<nan_order>(random() % 3), static_cast<zero_order>(random() % 2)};
  c.has_nulls = random() % 2 == 0;
  c.first_row = random() % 2 == 0 ? 0 : random() % 70;
  return c;
}

std::string describe(const column_case& c) {
  return fmt::format("[kind {} type {} contents {} order {}{}{}{} nulls {} first {}]", static_cast<int>(c.kind),
                     name(c.type), static_cast<int>(c.contents), static_cast<int>(c.order.order),
                     static_cast<int>(c.order.nulls), static_cast<int>(c.order.nans), static_cast<int>(c.order.zeros),
                     c.has_nulls, c.first_row);
}

std::vector<std::uint64_t> expected_order(const std::vector<std::unique_ptr<table_column>>& columns,
                                          std::uint64_t num_rows) {
  std::vector<std::uint64_t> order(num_rows);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::uint64_t a, std::uint64_t b) {
    for (const auto& column : columns) {
      const int difference = compare_cells(column->cells[a], column->cells[b], *column);
      if (difference != 0) return difference < 0;
    }
    return false;
  });
  return order;
}

}  // namespace spansort::test
