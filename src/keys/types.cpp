// SPDX-License-Identifier: Apache-2.0
#include "spansort/types.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "spansort/errors.hpp"

namespace spansort {
namespace {

struct type_row {
  std::string_view name;
  std::size_t size_bytes;
};
// In the order of key_type.
constexpr std::array<type_row, 12> rows{{{"u8", 1},
                                         {"i8", 1},
                                         {"u16", 2},
                                         {"i16", 2},
                                         {"u32", 4},
                                         {"i32", 4},
                                         {"u64", 8},
                                         {"i64", 8},
                                         {"f16", 2},
                                         {"bf16", 2},
                                         {"f32", 4},
                                         {"f64", 8}}};

struct alias {
  std::string_view name;
  key_type type;
};

// Names that NumPy gives to scalar types, as it writes them.
constexpr std::array numpy_names{
    alias{"uint8", key_type::u8},   alias{"int8", key_type::i8},       alias{"uint16", key_type::u16},
    alias{"int16", key_type::i16},  alias{"uint32", key_type::u32},    alias{"int32", key_type::i32},
    alias{"uint64", key_type::u64}, alias{"int64", key_type::i64},     alias{"float16", key_type::f16},
    alias{"half", key_type::f16},   alias{"bfloat16", key_type::bf16}, alias{"float32", key_type::f32},
    alias{"single", key_type::f32}, alias{"float64", key_type::f64},   alias{"double", key_type::f64}};

// Names that DuckDB and other databases give to types, in letters of either case.
constexpr std::array sql_names{alias{"UTINYINT", key_type::u8},   alias{"TINYINT", key_type::i8},
                               alias{"USMALLINT", key_type::u16}, alias{"SMALLINT", key_type::i16},
                               alias{"UINTEGER", key_type::u32},  alias{"INTEGER", key_type::i32},
                               alias{"UBIGINT", key_type::u64},   alias{"BIGINT", key_type::i64},
                               alias{"REAL", key_type::f32},      alias{"DOUBLE", key_type::f64}};

// These two mean other types to NumPy when they are written in small letters.
constexpr std::array capital_names{alias{"FLOAT", key_type::f32}, alias{"INT", key_type::i32}};

struct refused_name {
  std::string_view name;
  const char* why;
};
constexpr std::array refused_names{
    refused_name{"float", "it has 32 bits in C and SQL and 64 in NumPy: say f32 or f64"},
    refused_name{"int", "it has 32 bits in C and SQL and 64 in NumPy: say i32 or i64"},
    refused_name{"INT8", "it has 64 bits in SQL and 8 in NumPy: say i64 or i8"},
    refused_name{"HUGEINT", "integers of 128 bits are no keys"},
    refused_name{"UHUGEINT", "integers of 128 bits are no keys"},
    refused_name{"int128", "integers of 128 bits are no keys"},
    refused_name{"uint128", "integers of 128 bits are no keys"},
    refused_name{"u128", "integers of 128 bits are no keys"},
    refused_name{"i128", "integers of 128 bits are no keys"},
    refused_name{"float128", "floats of more than 64 bits are no keys"},
    refused_name{"longdouble", "floats of more than 64 bits are no keys"},
};

char upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

bool is_same_word(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) { return upper(x) == upper(y); });
}

/// Returns our name for a type code of NumPy that says its bytes, such as <f4, as " (f32 here)"; "" for anything else.
/// The codes are not taken: u8 has eight bits here, and eight bytes there.
std::string numpy_code_hint(std::string_view text) {
  const bool has_order = !text.empty() && std::string_view("<>=|").find(text[0]) != std::string_view::npos;
  if (has_order) text.remove_prefix(1);
  const bool is_code = text.size() == 2 && std::string_view("uif").find(text[0]) != std::string_view::npos &&
                       std::string_view("1248").find(text[1]) != std::string_view::npos;
  if (!is_code) return "";
  const std::string ours = text[0] + std::to_string((text[1] - '0') * 8);
  const bool is_known = std::ranges::any_of(rows, [&](const type_row& row) { return row.name == ours; });
  return is_known ? " (what NumPy calls so is " + ours + " here)" : "";
}

[[noreturn]] void throw_unknown(std::string_view text) {
  std::string message = "unknown key type '" + std::string(text) + "'";
  for (const refused_name& refused : refused_names) {
    const bool is_capital = refused.name[0] >= 'A' && refused.name[0] <= 'Z' && refused.name != "INT8";
    if (text == refused.name || (is_capital && is_same_word(text, refused.name))) {
      message += std::string(" (") + refused.why + ")";
    }
  }
  message += numpy_code_hint(text) + "; known are";
  for (const type_row& row : rows) message += (&row == rows.data() ? " " : ", ") + std::string(row.name);
  throw invalid_argument(message + ", and NumPy's and DuckDB's names of these: uint32, float64, BIGINT ...");
}

}  // namespace

// Types that there are not have a size, too, so that nobody divides by 0 before they are refused.
std::size_t size_bytes(key_type type) noexcept {
  const auto at = static_cast<std::size_t>(type);
  return at < rows.size() ? rows[at].size_bytes : 1;
}

std::string_view name(key_type type) noexcept {
  const auto at = static_cast<std::size_t>(type);
  return at < rows.size() ? rows[at].name : "unknown";
}

key_type parse_key_type(std::string_view text) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].name == text) return static_cast<key_type>(i);
  }
  for (const alias& known : numpy_names) {
    if (known.name == text) return known.type;
  }
  for (const alias& known : capital_names) {
    if (known.name == text) return known.type;
  }
  for (const alias& known : sql_names) {
    if (is_same_word(known.name, text)) return known.type;
  }
  throw_unknown(text);
}

std::string_view name(direction d) noexcept { return d == direction::ascending ? "ascending" : "descending"; }

}  // namespace spansort
