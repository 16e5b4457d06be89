// SPDX-License-Identifier: Apache-2.0
#include "files/row_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "files/io/npy.hpp"
#include "spansort/errors.hpp"

namespace spansort::files {
namespace {

constexpr std::uint64_t first_stream_bytes = std::uint64_t{1} << 20;

/// Appends bytes of the input until `head` has so many, or it ends.
void extend_to(std::string& head, std::size_t num_bytes, input_file& input) {
  const std::size_t before = head.size();
  if (num_bytes <= before) return;
  head.resize(num_bytes);
  head.resize(before + input.read(std::as_writable_bytes(std::span(head)).subspan(before)));
}

bool is_little(const npy_dtype& dtype) {
  const bool has_words = dtype.kind == npy_kind::number || dtype.kind == npy_kind::time ||
                         dtype.kind == npy_kind::text || dtype.kind == npy_kind::other;
  if (has_words && dtype.item_bytes > 1 && dtype.descr.find('>') != std::string::npos) return false;
  return std::ranges::all_of(dtype.fields, [](const npy_field& field) { return is_little(field.dtype); });
}

}  // namespace

row_file::row_file(const std::string& path, std::optional<key_type> type, std::uint64_t record_bytes) : input_(path) {
  extend_to(head_, npy_magic.size(), input_);
  if (head_ == npy_magic || is_npy_name(path)) {
    if (record_bytes != 0) {
      throw invalid_argument(fmt::format("{}: is .npy, whose rows have a size; leave --record out", name()));
    }
    read_npy();
    return;
  }
  if (record_bytes == 0 && !type) {
    throw invalid_argument(fmt::format(
        "{}: the size of raw elements is needed, by the type of keys (--type) or the bytes of a record (--record)",
        name()));
  }
  if (record_bytes != 0 && type) {
    throw invalid_argument("records have no type: --record and --type do not go together");
  }
  row_bytes_ = record_bytes != 0 ? record_bytes : size_bytes(*type);
  if (type) descr_ = numpy_descr({.type = *type});
  if (!input_.size_bytes()) return;
  if (*input_.size_bytes() % row_bytes_ != 0) {
    throw bad_input(fmt::format("{}: {} bytes are not a multiple of {}, the size of an element", name(),
                                *input_.size_bytes(), row_bytes_));
  }
  num_rows_ = *input_.size_bytes() / row_bytes_;
}

void row_file::read_npy() {
  format_ = file_format::npy;
  extend_to(head_, npy_preamble_bytes, input_);
  extend_to(head_, npy_preamble_size(head_, name()), input_);
  const npy_extent text = npy_header_extent(head_, name());
  extend_to(head_, text.begin_bytes + text.size_bytes, input_);
  if (head_.size() != text.begin_bytes + text.size_bytes) {
    throw bad_input(fmt::format("{}: .npy header is truncated: {} bytes expected, the file holds {}", name(),
                                text.begin_bytes + text.size_bytes, head_.size()));
  }
  first_byte_ = head_.size();
  take_array(parse_npy_header(std::string_view(head_).substr(text.begin_bytes), name()));
  head_.clear();
}

void row_file::take_array(const npy_array& array) {
  if (array.shape.empty()) throw bad_input(fmt::format("{}: holds a single value, which has no rows", name()));
  if (array.is_fortran && array.shape.size() > 1) {
    throw bad_input(
        fmt::format("{}: its columns lie together (fortran_order), so that it has no rows to take; "
                    "np.ascontiguousarray makes some",
                    name()));
  }
  row_shape_.assign(array.shape.begin() + 1, array.shape.end());
  descr_ = array.dtype.descr;
  is_native_ = is_little(array.dtype);
  claimed_rows_ = array.shape.front();
  const std::uint64_t num_values = array.num_elements;
  row_bytes_ = array.dtype.item_bytes;
  for (const std::uint64_t size : row_shape_) row_bytes_ *= size;
  if (row_bytes_ == 0) throw bad_input(fmt::format("{}: its rows have no bytes", name()));
  if (!input_.size_bytes()) return;
  const std::uint64_t held = *input_.size_bytes() - std::min(*input_.size_bytes(), first_byte_);
  if (held / array.dtype.item_bytes != num_values || held % array.dtype.item_bytes != 0) {
    throw bad_input(fmt::format("{}: header claims {} elements of {} bytes, file holds {} bytes after its header",
                                name(), num_values, array.dtype.item_bytes, held));
  }
  num_rows_ = claimed_rows_;
}

base::byte_buffer row_file::read_all(const transfer_progress& progress) {
  base::byte_buffer bytes;
  if (num_rows_) {
    bytes.resize(*num_rows_ * row_bytes_);
    const std::size_t held = std::min<std::uint64_t>(head_.size(), bytes.size());
    if (held != 0) std::memcpy(bytes.data(), head_.data(), held);
    input_.read(bytes.bytes().subspan(held), progress);
    input_.require_unchanged();
  } else {
    bytes = read_stream(progress);
  }
  return bytes;
}

base::byte_buffer row_file::read_stream(const transfer_progress& progress) {
  base::byte_buffer bytes(std::max<std::uint64_t>(first_stream_bytes, head_.size()));
  std::uint64_t held = head_.size();
  if (held != 0) std::memcpy(bytes.data(), head_.data(), held);
  while (true) {
    const std::uint64_t room = bytes.size() - held;
    const std::uint64_t done = input_.read(bytes.bytes().subspan(held), progress);
    held += done;
    if (done < room) break;
    bytes.resize(held * 2);
  }
  bytes.resize(held);
  if (held % row_bytes_ != 0 || (claimed_rows_ && held / row_bytes_ != *claimed_rows_)) {
    throw bad_input(fmt::format("{}: {} bytes are not {} elements of {} bytes", name(), held,
                                claimed_rows_ ? fmt::format("{}", *claimed_rows_) : "a whole number of", row_bytes_));
  }
  num_rows_ = held / row_bytes_;
  return bytes;
}

std::string row_file::npy_header_for(std::uint64_t num_rows) const {
  if (descr_.empty()) return "";
  std::vector<std::uint64_t> shape{num_rows};
  shape.insert(shape.end(), row_shape_.begin(), row_shape_.end());
  return make_npy_header(descr_, shape);
}

}  // namespace spansort::files
