// SPDX-License-Identifier: Apache-2.0
#include "files/io/key_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "files/io/memory.hpp"
#include "files/io/npy.hpp"
#include "files/io/text.hpp"
#include "keys/known_type.hpp"
#include "spansort/errors.hpp"

namespace spansort::files {
namespace {

constexpr std::uint64_t first_stream_bytes = std::uint64_t{1} << 20;

std::span<std::byte> bytes_of(std::string& text) { return std::as_writable_bytes(std::span(text)); }

// Appends up to `num_bytes` of the input to `head`.
void extend(std::string& head, std::size_t num_bytes, input_file& input) {
  const std::size_t before = head.size();
  head.resize(before + num_bytes);
  head.resize(before + input.read(bytes_of(head).subspan(before)));
}

npy_array read_npy_header(std::string& head, input_file& input) {
  extend(head, npy_preamble_bytes - std::min(head.size(), npy_preamble_bytes), input);
  extend(head, npy_preamble_size(head, input.name()) - head.size(), input);
  const npy_extent text = npy_header_extent(head, input.name());
  extend(head, text.size_bytes, input);
  if (head.size() != text.begin_bytes + text.size_bytes) {
    throw bad_input(fmt::format("{}: .npy header is truncated: {} bytes expected, the file holds {}", input.name(),
                                text.begin_bytes + text.size_bytes, head.size()));
  }
  return parse_npy_header(std::string_view(head).substr(text.begin_bytes), input.name());
}

// bf16 has no dtype of its own and travels as u16, or as raw bytes.
bool is_bf16(const npy_dtype& dtype) {
  return dtype.key == key_type::u16 || dtype.key == key_type::bf16 ||
         (dtype.kind == npy_kind::raw && dtype.item_bytes == 2);
}

}  // namespace

std::vector<word_change> key_layout::changes() const {
  if (record_bytes != 0) return record_changes;
  const bool swaps = byte_order != std::endian::native && size_bytes(type) > 1;
  if (!swaps && !lowers_times) return {};
  return {{.word_bytes = static_cast<std::uint32_t>(size_bytes(type)), .swaps = swaps, .lowers = lowers_times}};
}

key_reader::key_reader(const std::string& path, std::optional<key_type> type)
    : key_reader(path, type, false, shape_rule::one_row) {}

key_reader key_reader::open_keys(const std::string& path, std::optional<key_type> type) {
  return {path, type, false, shape_rule::flat};
}

key_reader key_reader::open_elements(const std::string& path, std::optional<key_type> type, shape_rule shape) {
  return {path, type, true, shape};
}

key_reader::key_reader(const std::string& path, std::optional<key_type> type, bool takes_elements, shape_rule shape)
    : input_(path) {
  extend(head_, npy_magic.size(), input_);
  if (head_ == npy_magic || is_npy_name(path)) {
    read_header(type, shape);
    if (!takes_elements) require_keys();
    return;
  }
  if (!type) {
    throw invalid_argument(
        fmt::format("{}: the type of raw keys is needed (--type); only .npy files name theirs", input_.name()));
  }
  keys::require_known(*type);
  layout_.type = *type;
  // A regular file of size 0 is empty, or one of the kernel's; what was read of it tells.
  is_empty_ = head_.empty() && input_.is_regular();
  if (input_.size_bytes()) require_whole_keys(*input_.size_bytes());
}

void key_reader::read_header(std::optional<key_type> type, shape_rule shape) {
  read_array();
  take_dtype(type);
  take_shape(shape);
  take_claimed_size();
}

void key_reader::read_array() {
  array_ = read_npy_header(head_, input_);
  layout_.format = file_format::npy;
  header_bytes_ = head_.size();
  head_.clear();
}

void key_reader::take_claimed_size() {
  claimed_bytes_ = array_->num_elements * array_->dtype.item_bytes;
  if (const auto size = input_.size_bytes()) require_claimed_size(*size - std::min(*size, header_bytes_));
}

key_reader key_reader::open_rows(const std::string& path, std::uint64_t num_rows) {
  key_reader reader(path);
  extend(reader.head_, npy_magic.size(), reader.input_);
  reader.is_empty_ = reader.head_.empty() && reader.input_.is_regular();
  if (!reader.input_.size_bytes() && !reader.is_empty_) {
    throw bad_input(fmt::format("{}: is a stream; values are read from a regular file", reader.name()));
  }
  if (reader.head_ == npy_magic || is_npy_name(path)) reader.read_array();
  reader.take_rows(num_rows);
  return reader;
}

void key_reader::take_rows(std::uint64_t num_rows) {
  if (!array_) {
    const std::uint64_t num_bytes = input_.size_bytes().value_or(0);
    if (num_rows == 0 ? num_bytes != 0 : num_bytes % num_rows != 0 || num_bytes == 0) {
      throw bad_input(fmt::format("{}: {} bytes cannot be the values of {} keys: they are not as many bytes for each",
                                  input_.name(), num_bytes, num_rows));
    }
    layout_.record_bytes = num_rows == 0 ? 1 : num_bytes / num_rows;
    return;
  }
  const std::vector<std::uint64_t>& shape = array_->shape;
  if (shape.empty() || shape.front() != num_rows) {
    throw bad_input(fmt::format("{}: an array of shape {} has no row for each of {} keys", input_.name(),
                                shape_text(shape), num_rows));
  }
  layout_.row_shape.assign(shape.begin() + 1, shape.end());
  layout_.record_bytes = array_->dtype.item_bytes;
  for (const std::uint64_t count : layout_.row_shape) layout_.record_bytes *= count;
  const bool is_matrix = std::any_of(shape.begin() + 1, shape.end(), [](std::uint64_t count) { return count != 1; });
  if (array_->is_fortran && is_matrix) {
    throw bad_input(
        fmt::format("{}: is an array in Fortran order, whose rows are not together; save it with "
                    "np.ascontiguousarray() first",
                    input_.name()));
  }
  if (layout_.record_bytes == 0) throw bad_input(fmt::format("{}: its rows have no bytes", input_.name()));
  layout_.descr = array_->dtype.descr;
  take_claimed_size();
}

void key_reader::refuse(const std::string& why) const {
  std::string_view descr = array_->dtype.descr;
  if (descr.size() > 1 && descr.starts_with('\'')) descr = descr.substr(1, descr.size() - 2);
  throw bad_input(fmt::format("{}: dtype {} not sortable: {}", input_.name(), quoted(descr), why));
}

void key_reader::take_dtype(std::optional<key_type> type) {
  const npy_dtype& dtype = array_->dtype;
  const bool is_plain = dtype.kind == npy_kind::number && dtype.key != key_type::bf16;
  if (type == key_type::bf16 && is_bf16(dtype)) {
    layout_.type = key_type::bf16;
    layout_.descr = is_plain ? "" : dtype.descr;
  } else if (dtype.key) {
    layout_.type = *dtype.key;
    layout_.descr = is_plain ? "" : dtype.descr;
  } else {
    if (dtype.kind == npy_kind::other) refuse("complex numbers and long doubles have no order here");
    if (dtype.kind == npy_kind::raw) {
      refuse("raw bytes; of 2 bytes each they may be bf16 (--type bf16), else name fields when the array is made");
    }
    if (dtype.item_bytes == 0) refuse("elements of no bytes");
    layout_.record_bytes = dtype.item_bytes;
    layout_.descr = dtype.descr;
  }
  layout_.byte_order = dtype.byte_order;
  if (!type || *type == layout_.type) return;
  throw bad_input(fmt::format("{}: holds {} keys by its header, {} (--type) expected", input_.name(), dtype_text(dtype),
                              spansort::name(*type)));
}

void key_reader::take_shape(shape_rule rule) {
  const std::vector<std::uint64_t>& shape = array_->shape;
  if (shape.empty()) {
    throw bad_input(fmt::format("{}: 0-d array: a single number, which nothing orders", input_.name()));
  }
  const auto is_long = [](std::uint64_t count) { return count != 1; };
  layout_.is_one_row = std::count_if(shape.begin(), shape.end(), is_long) <= 1;
  layout_.shape.clear();
  if (rule == shape_rule::flat) return;
  if (rule == shape_rule::any) {
    layout_.shape = shape;
    layout_.is_fortran = array_->is_fortran;
    return;
  }
  if (!layout_.is_one_row) {
    // Strings and structures are not sorted along an axis.
    const std::string ways = layout_.record_bytes != 0
                                 ? "--axis none sorts all elements as one"
                                 : fmt::format(
                                       "--axis {} sorts each row by itself, --axis 0 each column, --axis none "
                                       "all elements as one",
                                       shape.size() - 1);
    throw bad_input(fmt::format("{}: {}-d array of shape {}: what is to be sorted has to be said: {}", input_.name(),
                                shape.size(), shape_text(shape), ways));
  }
  const auto keys = std::find_if(shape.begin(), shape.end(), is_long);
  layout_.ones_before = static_cast<unsigned>((keys == shape.end() ? keys - 1 : keys) - shape.begin());
  layout_.ones_after = static_cast<unsigned>(shape.size()) - layout_.ones_before - 1;
}

void key_reader::require_keys() const {
  const bool is_time = array_->dtype.kind == npy_kind::time;
  if (layout_.record_bytes == 0 && !is_time) return;
  throw bad_input(
      fmt::format("{}: holds {}, of which there are sort, argsort, merge, check and take; for anything else {}",
                  input_.name(), dtype_text(array_->dtype),
                  is_time ? "save x.view('i8'), keys of type i64 in which NaT is the least"
                          : "save a field or a number of it as an array of its own"));
}

std::optional<std::uint64_t> key_reader::num_keys() const noexcept {
  if (!input_.size_bytes()) return is_empty_ ? std::optional<std::uint64_t>(0) : std::nullopt;
  return claimed_bytes_.value_or(*input_.size_bytes()) / layout_.element_bytes();
}

void key_reader::require_memory(const memory_policy& memory) const {
  if (const auto count = num_keys()) require_room(*count * layout_.element_bytes(), 0, memory);
}

loaded_keys key_reader::read(const memory_policy& memory, const transfer_progress& progress) {
  loaded_keys keys;
  keys.layout = layout_;
  keys.bytes = input_.size_bytes() ? read_known(memory, progress) : read_stream(memory, progress);
  require_complete(keys.bytes.size());
  keys.num_keys = keys.bytes.size() / layout_.element_bytes();
  make_native(keys.bytes.bytes(), layout_.element_bytes(), layout_.changes());
  return keys;
}

std::uint64_t key_reader::read_some(std::span<std::byte> into, const transfer_progress& progress) {
  const std::uint64_t width = layout_.element_bytes();
  const std::uint64_t wanted = into.size() - into.size() % width;
  const std::uint64_t most = part_bytes_.value_or(most_bytes());
  const auto part = into.first(std::min(wanted, most - bytes_taken_));
  const std::size_t held = std::min(head_.size(), part.size());
  std::memcpy(part.data(), head_.data(), held);
  head_.erase(0, held);
  const std::uint64_t num_bytes = held + input_.read(part.subspan(held), progress);
  bytes_taken_ += num_bytes;
  if (part_bytes_) {
    input_.require_same_status();
    if (num_bytes < part.size()) throw bad_input(fmt::format("{}: ends before the end of a part of it", input_.name()));
  } else if (num_bytes < wanted || bytes_taken_ == most) {
    require_complete(bytes_taken_);
  }
  make_native(part.first(num_bytes), width, layout_.changes());
  return num_bytes / width;
}

void key_reader::take_part(std::uint64_t first, std::uint64_t count) {
  head_.clear();
  part_bytes_ = count * layout_.element_bytes();
  input_.seek(header_bytes_ + first * layout_.element_bytes());
}

loaded_keys key_reader::read_part(std::uint64_t first, std::uint64_t count, const memory_policy& memory,
                                  const transfer_progress& progress) {
  const std::uint64_t width = layout_.element_bytes();
  require_room(count * width, 0, memory);
  loaded_keys keys{.layout = layout_, .num_keys = count, .bytes = base::byte_buffer(count * width)};
  input_.seek(header_bytes_ + first * width);
  const std::size_t num_read = input_.read(keys.bytes.bytes(), progress);
  input_.require_same_status();
  if (num_read != count * width) {
    throw bad_input(fmt::format("{}: ends after {} of {} bytes of its part from key {} on", input_.name(), num_read,
                                count * width, first));
  }
  make_native(keys.bytes.bytes(), width, layout_.changes());
  return keys;
}

base::byte_buffer key_reader::read_known(const memory_policy& memory, const transfer_progress& progress) {
  const std::uint64_t num_bytes = claimed_bytes_.value_or(*input_.size_bytes());
  require_room(num_bytes, 0, memory);
  base::byte_buffer bytes(num_bytes);
  const std::size_t held = std::min<std::uint64_t>(head_.size(), num_bytes);
  std::memcpy(bytes.data(), head_.data(), held);
  input_.read(bytes.bytes().subspan(held), progress);
  return bytes;
}

// Doubles as bytes arrive.
base::byte_buffer key_reader::read_stream(const memory_policy& memory, const transfer_progress& progress) {
  const std::uint64_t ceiling = most_bytes();
  base::byte_buffer bytes(first_stream_bytes);
  std::uint64_t held = head_.size();
  std::memcpy(bytes.data(), head_.data(), head_.size());
  while (true) {
    const std::uint64_t until = std::min(bytes.size(), ceiling);
    held += input_.read(bytes.bytes().subspan(held, until - held), progress);
    if (held < until || held == ceiling) break;
    require_room(held + 1, held, memory);
    bytes.resize(held * 2);
  }
  require_room(held, held, memory);
  bytes.resize(held);
  return bytes;
}

// Of a stream, one byte more than its header claims: enough to see that there is too much.
std::uint64_t key_reader::most_bytes() const noexcept {
  if (input_.size_bytes()) return claimed_bytes_.value_or(*input_.size_bytes());
  return claimed_bytes_ && *claimed_bytes_ != ~std::uint64_t{0} ? *claimed_bytes_ + 1 : ~std::uint64_t{0};
}

// At the end of the keys.
void key_reader::require_complete(std::uint64_t data_bytes) {
  input_.require_unchanged();
  if (claimed_bytes_) require_claimed_size(data_bytes);
  require_whole_keys(data_bytes);
}

void key_reader::require_claimed_size(std::uint64_t data_bytes) const {
  if (data_bytes == *claimed_bytes_) return;
  const std::uint64_t width = layout_.element_bytes();
  const bool is_cut = !input_.size_bytes() && data_bytes > *claimed_bytes_;
  throw bad_input(fmt::format("{}: header claims {} elements of {} bytes, file holds {}{} bytes after its header",
                              input_.name(), count_text(*claimed_bytes_ / width), width, is_cut ? "at least " : "",
                              data_bytes));
}

void key_reader::require_whole_keys(std::uint64_t num_bytes) const {
  const std::uint64_t width = layout_.element_bytes();
  if (num_bytes % width == 0) return;
  throw bad_input(fmt::format("{}: {} bytes are not a multiple of {}, the size of a {} key", input_.name(), num_bytes,
                              width, spansort::name(layout_.type)));
}

void key_reader::require_room(std::uint64_t num_bytes, std::uint64_t held_bytes, const memory_policy& memory) const {
  const std::uint64_t width = layout_.element_bytes();
  const std::uint64_t workspace = memory.workspace_bytes_per_key ? memory.workspace_bytes_per_key(layout_.type) : 0;
  files::require_memory(input_.name(), num_bytes / width, {width, workspace, memory.limit_bytes, held_bytes});
}

bool is_npy_name(const std::string& path) { return path.ends_with(".npy"); }

}  // namespace spansort::files
