// SPDX-License-Identifier: Apache-2.0
#include "files/io/npy.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "files/io/text.hpp"
#include "spansort/errors.hpp"

namespace spansort::files {
namespace {

/// A number in the words of NumPy's dtypes.
constexpr std::string_view numpy_name(key_type type) noexcept {
  switch (type) {
    case key_type::u8: return "u1";
    case key_type::i8: return "i1";
    case key_type::u16: return "u2";
    case key_type::i16: return "i2";
    case key_type::u32: return "u4";
    case key_type::i32: return "i4";
    case key_type::u64: return "u8";
    case key_type::i64: return "i8";
    case key_type::f16: return "f2";
    case key_type::bf16: return "u2";
    case key_type::f32: return "f4";
    case key_type::f64: return "f8";
  }
  return "";
}

class header_reader {
 public:
  header_reader(std::string_view text, const std::string& file) : text_(text, file) {}

  npy_array read() {
    text_.expect('{');
    while (!text_.skip_to('}')) {
      read_entry();
      if (!text_.skip_to(',') && !text_.is_next('}')) text_.fail("',' or '}' expected");
    }
    text_.skip_blanks();
    if (!text_.is_at_end()) text_.fail("nothing but blanks expected after '}'");
    if (!has_order_) text_.fail("'fortran_order' is missing");
    if (!has_dtype_) text_.fail("'descr' is missing");
    if (!has_shape_) text_.fail("'shape' is missing");
    take_shape();
    return std::move(array_);
  }

 private:
  void read_entry() {
    const std::string_view key = text_.read_string();
    text_.expect(':');
    if (key == "descr" && !std::exchange(has_dtype_, true)) {
      array_.dtype = read_npy_dtype(text_);
    } else if (key == "fortran_order" && !std::exchange(has_order_, true)) {
      array_.is_fortran = text_.skip_word("True");
      if (!array_.is_fortran && !text_.skip_word("False")) text_.fail("True or False expected for 'fortran_order'");
    } else if (key == "shape" && !std::exchange(has_shape_, true)) {
      shape_ = text_.read_tuple();
    } else {
      text_.fail(fmt::format("key {} is unknown or comes twice", quoted(key)));
    }
  }

  /// An array with a dimension of 0 has no elements, however large the others are.
  void take_shape() {
    const std::uint64_t item_bytes = std::max<std::uint64_t>(array_.dtype.item_bytes, 1);
    bool is_huge = false;
    bool is_empty = false;
    std::uint64_t count = 1;
    for (const npy_dimension& d : shape_) {
      if (d.is_negative) text_.fail("negative dimension in 'shape'");
      is_empty = is_empty || (d.count == 0 && !d.is_huge);
      is_huge = is_huge || d.is_huge || __builtin_mul_overflow(count, d.count, &count);
      array_.shape.push_back(d.count);
    }
    if (is_empty) count = 0;
    if (!is_empty && (is_huge || count > ~std::uint64_t{0} / item_bytes)) {
      throw bad_input(fmt::format("{}: header claims {} elements of {} bytes, more than any file holds", text_.file(),
                                  is_huge ? "very many" : count_text(count), array_.dtype.item_bytes));
    }
    array_.num_elements = count;
  }

  npy_text text_;
  npy_array array_;
  std::vector<npy_dimension> shape_;
  bool has_dtype_ = false;
  bool has_order_ = false;
  bool has_shape_ = false;
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

npy_array parse_npy_header(std::string_view text, const std::string& file) { return header_reader(text, file).read(); }

std::string shape_text(const std::vector<std::uint64_t>& shape) {
  return fmt::format("({}{})", fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
}

std::string make_npy_header(std::string_view descr, const std::vector<std::uint64_t>& shape, bool is_fortran) {
  std::string text = fmt::format("{{'descr': {}, 'fortran_order': {}, 'shape': {}, }}", descr,
                                 is_fortran ? "True" : "False", shape_text(shape));
  // Room for the dimension that grows when an array is appended to.
  constexpr std::size_t most_digits = 21;
  if (!shape.empty())
    text.append(most_digits - fmt::format("{}", is_fortran ? shape.back() : shape.front()).size(), ' ');
  const bool is_long = text.size() + 64 > npy_max_header_bytes;
  const std::size_t preamble_bytes = npy_preamble_bytes + (is_long ? 2 : 0);
  text.append(64 - (preamble_bytes + text.size() + 1) % 64, ' ');
  text += '\n';
  std::string result(npy_magic);
  result += {is_long ? '\x02' : '\x01', '\x00'};
  for (std::size_t at = npy_magic.size() + 2; at < preamble_bytes; ++at) {
    result += static_cast<char>(text.size() >> 8 * (at - npy_magic.size() - 2) & 0xff);
  }
  return result + text;
}

std::string numpy_descr(const npy_header& header) {
  const char order = size_bytes(header.type) == 1 ? '|' : header.byte_order == std::endian::little ? '<' : '>';
  return fmt::format("'{}{}'", order, numpy_name(header.type));
}

std::string make_npy_header(const npy_header& header) {
  return make_npy_header(numpy_descr(header), {header.num_keys});
}

}  // namespace spansort::files
