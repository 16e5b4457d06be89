// SPDX-License-Identifier: Apache-2.0
#include "records/projected_keys.hpp"

#include <algorithm>
#include <array>
#include <concepts>
#include <cstring>

#include "base/for_blocks.hpp"
#include "keys/dispatch.hpp"

namespace spansort::records {
namespace {

constexpr std::uint64_t step_bytes = sizeof(std::uint64_t);

/// Elements whose keys are read at a time: few enough for the first cache.
constexpr std::uint64_t block_elements = 512;

record_format format_of(std::span<const detail::projected_key> keys) {
  record_format format;
  for (const detail::projected_key& key : keys) {
    record_key field = key.format;
    field.offset = format.record_bytes;
    format.keys.push_back(field);
    format.record_bytes += field.size_bytes;
  }
  return format;
}

/// Makes room at the low end of a word for `num_bytes` more.
std::uint64_t shifted(std::uint64_t word, std::uint64_t num_bytes) {
  return num_bytes == step_bytes ? 0 : word << (8 * num_bytes);
}

/// Bytes as the number that memcmp would compare.
std::uint64_t big_endian(const std::byte* bytes, std::uint64_t num_bytes) {
  std::uint64_t number = 0;
  for (std::uint64_t i = 0; i < num_bytes; ++i) number = number << 8 | std::to_integer<std::uint64_t>(bytes[i]);
  return number;
}

template <std::unsigned_integral K>
void append_numbers(const keys::codec_of<K>& codec, const std::byte* numbers, std::span<std::uint64_t> words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    K number;
    std::memcpy(&number, numbers + i * sizeof(K), sizeof(K));
    words[i] = shifted(words[i], sizeof(K)) | codec.encode(number);
  }
}

void append_bytes(const record_key& key, const std::byte* bytes, std::span<std::uint64_t> words) {
  const std::uint64_t mask = key.descending ? base::low_mask(8 * key.size_bytes) : 0;
  for (std::size_t i = 0; i < words.size(); ++i) {
    words[i] = shifted(words[i], key.size_bytes) | (big_endian(bytes + i * key.size_bytes, key.size_bytes) ^ mask);
  }
}

}  // namespace

projected_keys::projected_keys(std::span<const detail::projected_key> keys)
    : format_(format_of(keys)), codec_(format_, false), keys_(keys.begin(), keys.end()) {}

std::uint64_t projected_keys::word(std::uint64_t index, std::uint64_t step) const {
  const auto key_offset = static_cast<std::uint32_t>(step);
  std::array<std::byte, most_record_keys * most_record_key_bytes> record;
  for (std::size_t k = 0; k < keys_.size(); ++k) {
    const record_key& field = format_.keys[k];
    const bool is_in_word = field.offset < key_offset + step_bytes && key_offset < field.offset + field.size_bytes;
    if (is_in_word) keys_[k].read(keys_[k].context, index, index + 1, record.data() + field.offset);
  }
  return codec_.word(record.data(), key_offset);
}

std::optional<std::uint64_t> projected_keys::next_step(std::uint64_t /*index*/, std::uint64_t step) const {
  return is_last(step) ? std::nullopt : std::optional(step + step_bytes);
}

bool projected_keys::is_last(std::uint64_t step) const noexcept { return step + step_bytes >= key_bytes(); }

key_type projected_keys::word_type() const noexcept {
  if (key_bytes() == 1) return key_type::u8;
  if (key_bytes() == 2) return key_type::u16;
  return key_bytes() <= 4 ? key_type::u32 : key_type::u64;
}

void projected_keys::write_words(std::uint64_t num_elements, void* words) const {
  base::for_blocks(num_elements, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t first = begin; first < end; first += block_elements) {
      write_block(first, std::min(first + block_elements, end), words);
    }
  });
}

void projected_keys::write_block(std::uint64_t begin, std::uint64_t end, void* words) const {
  std::array<std::uint64_t, block_elements> block{};
  for (std::size_t k = 0; k < keys_.size(); ++k) append_key(k, begin, std::span(block).first(end - begin));
  keys::with_width(static_cast<unsigned>(size_bytes(word_type())), [&]<class K>() {
    K* const to = static_cast<K*>(words) + begin;
    for (std::uint64_t i = 0; i < end - begin; ++i) to[i] = static_cast<K>(block[i]);
  });
}

void projected_keys::append_key(std::size_t key, std::uint64_t begin, std::span<std::uint64_t> words) const {
  alignas(std::uint64_t) std::array<std::byte, block_elements * step_bytes> values;
  keys_[key].read(keys_[key].context, begin, begin + words.size(), values.data());
  const record_key& field = format_.keys[key];
  if (!field.type) return append_bytes(field, values.data(), words);
  const keys::key_codec codec{*field.type, field.descending, keys::tie_rule::by_input_order};
  keys::with_width(codec.width_bytes(), [&]<class K>() { append_numbers(codec.of<K>(), values.data(), words); });
}

}  // namespace spansort::records
