// SPDX-License-Identifier: Apache-2.0
#include "files/io/npy_dtype.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include "files/io/text.hpp"
#include "spansort/errors.hpp"

namespace spansort::files {
namespace {

constexpr unsigned max_depth = 16;  // of fields that have fields themselves
constexpr std::uint64_t max_item_bytes = std::uint64_t{1} << 32;

struct number_dtype {
  std::string_view name;
  npy_kind kind;
  key_type type;
};
constexpr std::array<number_dtype, 13> number_dtypes{{{"u1", npy_kind::number, key_type::u8},
                                                      {"i1", npy_kind::number, key_type::i8},
                                                      {"u2", npy_kind::number, key_type::u16},
                                                      {"i2", npy_kind::number, key_type::i16},
                                                      {"u4", npy_kind::number, key_type::u32},
                                                      {"i4", npy_kind::number, key_type::i32},
                                                      {"u8", npy_kind::number, key_type::u64},
                                                      {"i8", npy_kind::number, key_type::i64},
                                                      {"f2", npy_kind::number, key_type::f16},
                                                      {"f4", npy_kind::number, key_type::f32},
                                                      {"f8", npy_kind::number, key_type::f64},
                                                      {"b1", npy_kind::boolean, key_type::u8},
                                                      {"?", npy_kind::boolean, key_type::u8}}};

[[noreturn]] void refuse(const npy_text& text, const std::string& dtype, std::string_view why) {
  throw bad_input(
      fmt::format("{}: dtype {} not sortable{}; known: u1 i1 u2 i2 u4 i4 u8 i8 f2 f4 f8 b1 M8 m8 S U and "
                  "structures of them",
                  text.file(), dtype, why));
}

/// Returns the number that is all of `digits`; nothing where it is none or too large.
std::optional<std::uint64_t> number_of(std::string_view digits) {
  std::uint64_t number = 0;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (parsed.ec != std::errc{} || parsed.ptr != digits.data() + digits.size() || number > max_item_bytes) return {};
  return number;
}

/// Returns whether `text` is "8", or "8[ns]": what follows M or m.
bool is_unit(std::string_view text) {
  if (!text.starts_with('8')) return false;
  text.remove_prefix(1);
  if (text.empty()) return true;
  if (text.size() < 3 || !text.starts_with('[') || !text.ends_with(']')) return false;
  return std::all_of(text.begin() + 1, text.end() - 1, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '/';
  });
}

/// Fills what kind and size a dtype of one part has; returns false for what none has.
bool describe(npy_dtype& dtype, char order, std::string_view rest) {
  const auto known = std::find_if(number_dtypes.begin(), number_dtypes.end(),
                                  [&](const number_dtype& row) { return row.name == rest; });
  if (known != number_dtypes.end()) {
    dtype.kind = known->kind;
    dtype.key = known->type;
    dtype.item_bytes = size_bytes(known->type);
    return order != '|' || dtype.item_bytes == 1;
  }
  if (rest.empty()) return false;
  const char letter = rest.front();
  rest.remove_prefix(1);
  if ((letter == 'M' || letter == 'm') && is_unit(rest)) {
    dtype.kind = npy_kind::time;
    dtype.key = key_type::i64;
    dtype.item_bytes = 8;
    return order != '|';
  }
  const std::optional<std::uint64_t> size = number_of(rest);
  if (!size) return false;
  dtype.item_bytes = *size;
  switch (letter) {
    case 'S':
    case 'a': dtype.kind = npy_kind::bytes; return true;
    case 'U':
      dtype.kind = npy_kind::text;
      dtype.item_bytes *= 4;
      return order != '|' || *size == 0;
    case 'V':
      dtype.kind = npy_kind::raw;
      // bfloat16 of ml_dtypes is no dtype of NumPy's own and is saved so; plain raw bytes are '|V2'.
      if (*size == 2 && order == '<') {
        dtype.kind = npy_kind::number;
        dtype.key = key_type::bf16;
      }
      return true;
    case 'c': dtype.kind = npy_kind::other; return *size == 8 || *size == 16 || *size == 24 || *size == 32;
    case 'f': dtype.kind = npy_kind::other; return *size == 12 || *size == 16;
    default: return false;
  }
}

npy_dtype read_simple(npy_text& text) {
  const std::string_view descr = text.read_string();
  const bool has_order = !descr.empty() && std::string_view("<>=|").find(descr[0]) != std::string_view::npos;
  const char order = has_order ? descr[0] : '=';
  const std::string_view rest = descr.substr(has_order ? 1 : 0);
  if (rest.starts_with('O')) refuse(text, quoted(descr), " (Python objects: save numbers or strings of fixed width)");
  npy_dtype dtype;
  if (!describe(dtype, order, rest)) refuse(text, quoted(descr), "");
  const bool is_one_byte = dtype.key && dtype.item_bytes == 1;
  dtype.byte_order = is_one_byte || order == '=' || order == '|' ? std::endian::native
                     : order == '<'                              ? std::endian::little
                                                                 : std::endian::big;
  return dtype;
}

npy_dtype read_dtype(npy_text& text, unsigned depth);

/// Reads the name of a field; of a title and a name it is the second.
std::string read_name(npy_text& text) {
  if (!text.skip_to('(')) return std::string(text.read_string());
  static_cast<void>(text.read_string());
  text.expect(',');
  const std::string name(text.read_string());
  text.expect(')');
  return name;
}

/// Returns how many values of a field there are under its name.
std::uint64_t count_values(npy_text& text) {
  std::uint64_t count = 1;
  for (const npy_dimension& d : text.read_tuple()) {
    if (d.is_negative || d.is_huge || __builtin_mul_overflow(count, d.count, &count) || count > max_item_bytes) {
      text.fail("a field of a size that cannot be");
    }
  }
  return count;
}

void read_field(npy_text& text, unsigned depth, npy_dtype& whole) {
  text.expect('(');
  npy_field field{.name = read_name(text), .offset = whole.item_bytes, .dtype = {}};
  text.expect(',');
  field.dtype = read_dtype(text, depth + 1);
  std::uint64_t count = 1;
  if (text.skip_to(',')) {
    field.is_array = true;
    count = count_values(text);
  }
  text.expect(')');
  std::uint64_t size = 0;
  if (__builtin_mul_overflow(count, field.dtype.item_bytes, &size) || size > max_item_bytes ||
      (whole.item_bytes += size) > max_item_bytes) {
    text.fail("a field of a size that cannot be");
  }
  const bool is_padding = field.name.empty() && field.dtype.kind == npy_kind::raw;
  if (!is_padding) whole.fields.push_back(std::move(field));
}

npy_dtype read_structured(npy_text& text, unsigned depth) {
  npy_dtype dtype;
  dtype.kind = npy_kind::structured;
  while (!text.skip_to(']')) {
    read_field(text, depth, dtype);
    text.skip_blanks();
    if (!text.skip_to(',') && !text.is_next(']')) text.fail("',' or ']' expected in 'descr'");
  }
  return dtype;
}

npy_dtype read_dtype(npy_text& text, unsigned depth) {
  text.skip_blanks();
  const std::size_t begin = text.position();
  if (text.is_next('(') || text.is_next('{')) refuse(text, "of a subarray or a dictionary", "");
  if (depth > max_depth) text.fail("fields of fields, too deep");
  npy_dtype dtype = text.skip_to('[') ? read_structured(text, depth) : read_simple(text);
  dtype.descr = std::string(text.since(begin));
  return dtype;
}

}  // namespace

npy_dtype read_npy_dtype(npy_text& text) { return read_dtype(text, 0); }

std::string dtype_text(const npy_dtype& dtype) {
  const std::string_view descr = dtype.descr;
  switch (dtype.kind) {
    case npy_kind::number: return std::string(name(*dtype.key));
    case npy_kind::boolean: return "bool";
    case npy_kind::time: {
      const std::size_t unit = std::min(descr.find('['), descr.size());
      const bool is_date = descr.find('M') != std::string_view::npos;
      const std::string_view shown = descr.substr(unit, descr.size() - unit - 1);
      return fmt::format("{}{}", is_date ? "datetime64" : "timedelta64", shown);
    }
    case npy_kind::bytes: return fmt::format("S{}", dtype.item_bytes);
    case npy_kind::text: return fmt::format("U{}", dtype.item_bytes / 4);
    case npy_kind::raw: return fmt::format("V{}", dtype.item_bytes);
    case npy_kind::other: return quoted(descr);
    case npy_kind::structured: return fmt::format("record of {} bytes", dtype.item_bytes);
  }
  return "";
}

}  // namespace spansort::files
