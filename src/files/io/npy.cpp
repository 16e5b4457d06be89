// SPDX-License-Identifier: Apache-2.0
#include "files/io/npy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <vector>

#include "files/io/text.hpp"
#include "spansort/errors.hpp"

namespace spansort::files {
namespace {

// More dimensions than NumPy has ever allowed.
constexpr std::size_t max_dimensions = 64;

struct npy_type {
  char kind;
  char digit;
  key_type type;
};
constexpr std::array<npy_type, 11> npy_types{{{'u', '1', key_type::u8},
                                              {'i', '1', key_type::i8},
                                              {'u', '2', key_type::u16},
                                              {'i', '2', key_type::i16},
                                              {'u', '4', key_type::u32},
                                              {'i', '4', key_type::i32},
                                              {'u', '8', key_type::u64},
                                              {'i', '8', key_type::i64},
                                              {'f', '2', key_type::f16},
                                              {'f', '4', key_type::f32},
                                              {'f', '8', key_type::f64}}};

std::string what_kind(char kind) {
  switch (kind) {
    case 'O': return " (Python objects)";
    case 'V': return " (raw records)";
    case 'U': return " (unicode text)";
    case 'S':
    case 'a': return " (byte strings)";
    case '?':
    case 'b': return " (booleans)";
    case 'c': return " (complex numbers)";
    case 'M': return " (dates)";
    case 'm': return " (time differences)";
    default: return "";
  }
}

struct dimension {
  std::uint64_t count = 0;
  bool is_negative = false;
  bool is_huge = false;  ///< does not fit 64 bits
};

/// A cursor over the header's text; every read is bounded.
class header_reader {
 public:
  header_reader(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  npy_header read() {
    expect('{');
    while (!skip_to('}')) {
      read_entry();
      if (!skip_to(',') && !is_next('}')) fail("',' or '}' expected");
    }
    skip_blanks();
    if (at_ != text_.size()) fail("nothing but blanks expected after '}'");
    if (!has_order_) fail("'fortran_order' is missing");
    if (!type_) fail("'descr' is missing");
    if (!has_shape_) fail("'shape' is missing");
    return {*type_, byte_order_, num_keys()};
  }

 private:
  void read_entry() {
    const std::string_view key = read_string();
    expect(':');
    if (key == "descr" && !type_) return read_dtype();
    if (key == "fortran_order" && !has_order_) return read_order();
    if (key == "shape" && !has_shape_) return read_shape();
    fail(fmt::format("key {} is unknown or comes twice", quoted(key)));
  }

  void read_dtype() {
    skip_blanks();
    if (is_next('[') || is_next('(') || is_next('{')) refuse_dtype("of several fields", " (structured)");
    const std::string_view descr = read_string();
    const bool has_order = !descr.empty() && std::string_view("<>=|").find(descr[0]) != std::string_view::npos;
    const char order = has_order ? descr[0] : '=';
    const std::string_view rest = descr.substr(has_order ? 1 : 0);
    const auto known = std::find_if(npy_types.begin(), npy_types.end(), [&](const npy_type& row) {
      return rest.size() == 2 && rest[0] == row.kind && rest[1] == row.digit;
    });
    if (known == npy_types.end()) refuse_dtype(quoted(descr), rest.empty() ? "" : what_kind(rest[0]));
    if (order == '|' && size_bytes(known->type) > 1) refuse_dtype(quoted(descr), " (no byte order)");
    type_ = known->type;
    byte_order_ = order == '<' ? std::endian::little : order == '>' ? std::endian::big : std::endian::native;
    if (size_bytes(*type_) == 1) byte_order_ = std::endian::native;
  }

  // Of a one-dimensional array both orders are the same.
  void read_order() {
    skip_blanks();
    for (const std::string_view word : {std::string_view("True"), std::string_view("False")}) {
      if (text_.substr(at_, word.size()) != word) continue;
      at_ += word.size();
      has_order_ = true;
      return;
    }
    fail("True or False expected for 'fortran_order'");
  }

  void read_shape() {
    skip_blanks();
    const std::size_t begin = at_;
    expect('(');
    bool has_comma = false;
    while (!skip_to(')')) {
      if (shape_.size() == max_dimensions) fail("more than 64 dimensions");
      if (!shape_.empty() && !has_comma) fail("',' or ')' expected in 'shape'");
      shape_.push_back(read_dimension());
      has_comma = skip_to(',');
    }
    if (shape_.size() == 1 && !has_comma) fail("'shape' is a number, a tuple is expected");
    shape_text_ = text_.substr(begin, at_ - begin);
    has_shape_ = true;
  }

  dimension read_dimension() {
    skip_blanks();
    dimension result;
    result.is_negative = skip_to('-');
    const std::size_t begin = at_;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') ++at_;
    const std::string_view digits = text_.substr(begin, at_ - begin);
    if (digits.empty()) fail("a number expected in 'shape'");
    if (digits.size() > 1 && digits[0] == '0') fail("a number in 'shape' starts with 0");
    const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), result.count);
    result.is_huge = parsed.ec == std::errc::result_out_of_range;
    if (is_next('L')) ++at_;  // Python 2 wrote long integers so
    return result;
  }

  std::uint64_t num_keys() const {
    const std::string shape = quoted(shape_text_);
    for (const dimension& d : shape_) {
      if (d.is_negative) fail(fmt::format("negative dimension in shape {}", shape));
    }
    if (shape_.empty()) {
      throw bad_input(fmt::format("{}: 0-d array (a single number); a one-dimensional array is expected", file_));
    }
    if (shape_.size() > 1) {
      throw bad_input(fmt::format("{}: {}-d array of shape {}; a one-dimensional array is expected (save its ravel())",
                                  file_, shape_.size(), shape));
    }
    const std::uint64_t bytes_per_key = size_bytes(*type_);
    if (shape_[0].is_huge || shape_[0].count > ~std::uint64_t{0} / bytes_per_key) {
      throw bad_input(fmt::format("{}: header claims {} elements of {} bytes, more than any file holds", file_,
                                  shape_[0].is_huge ? shape : count_text(shape_[0].count), bytes_per_key));
    }
    return shape_[0].count;
  }

  // A string literal of Python without escapes.
  std::string_view read_string() {
    skip_blanks();
    if (!is_next('\'') && !is_next('"')) fail("a quoted word expected");
    const char quote = text_[at_];
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) fail("closing quote missing");
    const std::string_view word = text_.substr(at_ + 1, end - at_ - 1);
    if (word.find('\\') != std::string_view::npos) fail("backslash in a quoted word");
    at_ = end + 1;
    return word;
  }

  void skip_blanks() {
    while (is_next(' ') || is_next('\t') || is_next('\n') || is_next('\r')) ++at_;
  }
  bool is_next(char c) const { return at_ < text_.size() && text_[at_] == c; }
  bool skip_to(char c) {
    skip_blanks();
    if (!is_next(c)) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!skip_to(c)) fail(fmt::format("'{}' expected", c));
  }
  [[noreturn]] void fail(const std::string& why) const {
    throw bad_input(fmt::format("{}: .npy header is damaged: {}, found {} at byte {}", file_, why,
                                at_ < text_.size() ? quoted(text_.substr(at_)) : "its end", at_));
  }
  [[noreturn]] void refuse_dtype(const std::string& dtype, const std::string& kind) const {
    throw bad_input(
        fmt::format("{}: dtype {} not sortable{}; known: u1 i1 u2 i2 u4 i4 u8 i8 f2 f4 f8", file_, dtype, kind));
  }

  std::string_view text_;
  const std::string& file_;
  std::size_t at_ = 0;
  std::optional<key_type> type_;
  std::endian byte_order_ = std::endian::native;
  bool has_order_ = false;
  bool has_shape_ = false;
  std::vector<dimension> shape_;
  std::string_view shape_text_;
};

std::size_t byte_at(std::string_view text, std::size_t index) { return static_cast<unsigned char>(text[index]); }

}  // namespace

std::size_t npy_preamble_size(std::string_view start, const std::string& file) {
  const std::string_view magic = start.substr(0, npy_magic.size());
  if (magic != npy_magic) {
    throw bad_input(fmt::format("{}: not a .npy file: {} expected at its start, found {}", file, quoted(npy_magic),
                                start.empty() ? "an empty file" : quoted(magic)));
  }
  if (start.size() < npy_preamble_bytes) {
    throw bad_input(fmt::format("{}: .npy header is truncated: the file holds {} bytes", file, start.size()));
  }
  const std::size_t major = byte_at(start, 6);
  const std::size_t minor = byte_at(start, 7);
  if (major < 1 || major > 3 || minor != 0) {
    throw bad_input(fmt::format("{}: .npy version {}.{} is unknown; 1.0, 2.0 and 3.0 are known", file, major, minor));
  }
  return major == 1 ? npy_preamble_bytes : npy_preamble_bytes + 2;
}

npy_extent npy_header_extent(std::string_view preamble, const std::string& file) {
  const std::size_t begin = npy_preamble_size(preamble, file);
  if (preamble.size() < begin) {
    throw bad_input(fmt::format("{}: .npy header is truncated: the file holds {} bytes", file, preamble.size()));
  }
  std::size_t size_bytes = 0;
  for (std::size_t i = begin; i-- > 8;) size_bytes = size_bytes << 8 | byte_at(preamble, i);
  if (size_bytes > npy_max_header_bytes) {
    throw bad_input(fmt::format("{}: .npy header claims a length of {} bytes, at most {} are accepted", file,
                                size_bytes, npy_max_header_bytes));
  }
  return {begin, size_bytes};
}

npy_header parse_npy_header(std::string_view text, const std::string& file) { return header_reader(text, file).read(); }

std::string make_npy_header(const npy_header& header) {
  const key_type type = header.type == key_type::bf16 ? key_type::u16 : header.type;
  const auto row =
      std::find_if(npy_types.begin(), npy_types.end(), [&](const npy_type& known) { return known.type == type; });
  const char order = size_bytes(type) == 1 ? '|' : header.byte_order == std::endian::little ? '<' : '>';
  std::string text = fmt::format("{{'descr': '{}{}{}', 'fortran_order': False, 'shape': ({},), }}", order, row->kind,
                                 row->digit, header.num_keys);
  const std::size_t unpadded = npy_preamble_bytes + text.size() + 1;
  text.append((64 - unpadded % 64) % 64, ' ');
  text += '\n';
  std::string result(npy_magic);
  result += {'\x01', '\x00', static_cast<char>(text.size() & 0xff), static_cast<char>(text.size() >> 8)};
  return result + text;
}

}  // namespace spansort::files
