// SPDX-License-Identifier: Apache-2.0
#include "files/io/key_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "files/io/memory.hpp"
#include "files/io/npy.hpp"
#include "files/io/text.hpp"
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

npy_header read_npy_header(std::string& head, input_file& input) {
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

// bf16 has no dtype of its own and travels as u16.
key_type agreed_type(key_type found, std::optional<key_type> asked, const std::string& file) {
  if (!asked || *asked == found) return found;
  if (*asked == key_type::bf16 && found == key_type::u16) return key_type::bf16;
  throw bad_input(fmt::format("{}: holds {} keys by its header, {} (--type) expected", file, spansort::name(found),
                              spansort::name(*asked)));
}

template <class Word, class Swap>
void swap_words(std::span<std::byte> elements, Swap swap) {
  for (std::size_t at = 0; at + sizeof(Word) <= elements.size(); at += sizeof(Word)) {
    Word word;
    std::memcpy(&word, elements.data() + at, sizeof(Word));
    word = static_cast<Word>(swap(word));
    std::memcpy(elements.data() + at, &word, sizeof(Word));
  }
}

}  // namespace

key_reader::key_reader(const std::string& path, std::optional<key_type> type) : input_(path) {
  extend(head_, npy_magic.size(), input_);
  if (head_ == npy_magic || is_npy_name(path)) {
    read_header(type);
    return;
  }
  if (!type) {
    throw invalid_argument(
        fmt::format("{}: the type of raw keys is needed (--type); only .npy files name theirs", input_.name()));
  }
  layout_ = {file_format::raw, *type, std::endian::little};
  // A regular file of size 0 is empty, or one of the kernel's; what was read of it tells.
  is_empty_ = head_.empty() && input_.is_regular();
  if (input_.size_bytes()) require_whole_keys(*input_.size_bytes());
}

void key_reader::read_header(std::optional<key_type> type) {
  const npy_header header = read_npy_header(head_, input_);
  layout_ = {file_format::npy, agreed_type(header.type, type, input_.name()), header.byte_order};
  claimed_bytes_ = header.num_keys * size_bytes(header.type);
  header_bytes_ = head_.size();
  head_.clear();
  if (const auto size = input_.size_bytes()) require_claimed_size(*size - std::min(*size, header_bytes_));
}

std::optional<std::uint64_t> key_reader::num_keys() const noexcept {
  if (!input_.size_bytes()) return is_empty_ ? std::optional<std::uint64_t>(0) : std::nullopt;
  return claimed_bytes_.value_or(*input_.size_bytes()) / size_bytes(layout_.type);
}

void key_reader::require_memory(const memory_policy& memory) const {
  if (const auto count = num_keys()) require_room(*count * size_bytes(layout_.type), 0, memory);
}

loaded_keys key_reader::read(const memory_policy& memory, const transfer_progress& progress) {
  loaded_keys keys;
  keys.layout = layout_;
  keys.bytes = input_.size_bytes() ? read_known(memory, progress) : read_stream(memory, progress);
  require_complete(keys.bytes.size());
  keys.num_keys = keys.bytes.size() / size_bytes(layout_.type);
  if (layout_.byte_order != std::endian::native) swap_bytes(keys.bytes.bytes(), size_bytes(layout_.type));
  return keys;
}

std::uint64_t key_reader::read_some(std::span<std::byte> into, const transfer_progress& progress) {
  const std::uint64_t width = size_bytes(layout_.type);
  const std::uint64_t wanted = into.size() - into.size() % width;
  const auto part = into.first(std::min(wanted, most_bytes() - bytes_taken_));
  const std::size_t held = std::min(head_.size(), part.size());
  std::memcpy(part.data(), head_.data(), held);
  head_.erase(0, held);
  const std::uint64_t num_bytes = held + input_.read(part.subspan(held), progress);
  bytes_taken_ += num_bytes;
  if (num_bytes < wanted || bytes_taken_ == most_bytes()) require_complete(bytes_taken_);
  if (layout_.byte_order != std::endian::native) swap_bytes(part.first(num_bytes), width);
  return num_bytes / width;
}

loaded_keys key_reader::read_part(std::uint64_t first, std::uint64_t count, const memory_policy& memory,
                                  const transfer_progress& progress) {
  const std::uint64_t width = size_bytes(layout_.type);
  require_room(count * width, 0, memory);
  loaded_keys keys{.layout = layout_, .num_keys = count, .bytes = base::byte_buffer(count * width)};
  input_.seek(header_bytes_ + first * width);
  const std::size_t num_read = input_.read(keys.bytes.bytes(), progress);
  input_.require_same_status();
  if (num_read != count * width) {
    throw bad_input(fmt::format("{}: ends after {} of {} bytes of its part from key {} on", input_.name(), num_read,
                                count * width, first));
  }
  if (layout_.byte_order != std::endian::native) swap_bytes(keys.bytes.bytes(), width);
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
  const std::uint64_t width = size_bytes(layout_.type);
  const bool is_cut = !input_.size_bytes() && data_bytes > *claimed_bytes_;
  throw bad_input(fmt::format("{}: header claims {} elements of {} bytes, file holds {}{} bytes after its header",
                              input_.name(), count_text(*claimed_bytes_ / width), width, is_cut ? "at least " : "",
                              data_bytes));
}

void key_reader::require_whole_keys(std::uint64_t num_bytes) const {
  const std::uint64_t width = size_bytes(layout_.type);
  if (num_bytes % width == 0) return;
  throw bad_input(fmt::format("{}: {} bytes are not a multiple of {}, the size of a {} key", input_.name(), num_bytes,
                              width, spansort::name(layout_.type)));
}

void key_reader::require_room(std::uint64_t num_bytes, std::uint64_t held_bytes, const memory_policy& memory) const {
  const std::uint64_t width = size_bytes(layout_.type);
  const std::uint64_t workspace = memory.workspace_bytes_per_key ? memory.workspace_bytes_per_key(layout_.type) : 0;
  files::require_memory(input_.name(), num_bytes / width, {width, workspace, memory.limit_bytes, held_bytes});
}

void swap_bytes(std::span<std::byte> elements, std::size_t element_bytes) {
  switch (element_bytes) {
    case 2: return swap_words<std::uint16_t>(elements, [](std::uint16_t x) { return __builtin_bswap16(x); });
    case 4: return swap_words<std::uint32_t>(elements, [](std::uint32_t x) { return __builtin_bswap32(x); });
    case 8: return swap_words<std::uint64_t>(elements, [](std::uint64_t x) { return __builtin_bswap64(x); });
    default: return;
  }
}

bool is_npy_name(const std::string& path) { return path.ends_with(".npy"); }

}  // namespace spansort::files
