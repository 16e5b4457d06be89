// SPDX-License-Identifier: Apache-2.0
#include "records/record_codec.hpp"

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstring>

#include "keys/dispatch.hpp"

namespace spansort::records {
namespace {

static_assert(std::endian::native == std::endian::little, "fields are read as they lie");

template <class... F>
struct overloaded : F... {
  using F::operator()...;
};
template <class... F>
overloaded(F...) -> overloaded<F...>;

template <std::unsigned_integral K>
[[nodiscard]] K load(const std::byte* from) noexcept {
  K value;
  std::memcpy(&value, from, sizeof(K));
  return value;
}

template <std::unsigned_integral K>
[[nodiscard]] constexpr K swap_bytes(K value) noexcept {
  if constexpr (sizeof(K) == 8) return __builtin_bswap64(value);
  if constexpr (sizeof(K) == 4) return __builtin_bswap32(value);
  if constexpr (sizeof(K) == 2) return __builtin_bswap16(value);
  return value;
}

}  // namespace

record_codec::encoding record_codec::encoding_of(const record_key& key, bool descending) {
  if (!key.type) return plain_bytes{descending};
  const keys::key_codec codec{*key.type, descending, keys::tie_rule::by_input_order};
  return keys::with_width(codec.width_bytes(), [&]<class K>() -> encoding { return codec.of<K>(); });
}

record_codec::record_codec(const record_format& format, bool descending) : record_bytes_(format.record_bytes) {
  check_record_format(format);
  for (const record_key& key : format.keys) {
    fields_.push_back({key.offset, key_bytes_, key.size_bytes, encoding_of(key, key.descending != descending)});
    key_bytes_ += key.size_bytes;
  }
}

/// Writes bytes [begin, end) of a field's encoding.
void record_codec::encode_part(const field& f, const std::byte* record, std::uint32_t begin, std::uint32_t end,
                               std::byte* to) noexcept {
  const std::byte* const from = record + f.record_offset;
  const auto copy_plain = [&](plain_bytes how) {
    std::memcpy(to, from + begin, end - begin);
    if (!how.is_inverted) return;
    for (std::byte* b = to; b != to + (end - begin); ++b) *b = ~*b;
  };
  const auto encode_number = [&]<class K>(const keys::codec_of<K>& codec) {
    const K big_endian = swap_bytes(codec.encode(load<K>(from)));
    std::memcpy(to, reinterpret_cast<const std::byte*>(&big_endian) + begin, end - begin);
  };
  std::visit(overloaded{copy_plain, encode_number}, f.how);
}

void record_codec::encode(const std::byte* record, std::byte* key) const noexcept {
  for (const field& f : fields_) encode_part(f, record, 0, f.size_bytes, key + f.key_offset);
}

std::uint64_t record_codec::word(const std::byte* record, std::uint32_t key_offset) const noexcept {
  std::byte bytes[8] = {};
  const std::uint32_t key_end = key_offset + 8;
  for (const field& f : fields_) {
    if (f.key_offset >= key_end) break;
    const std::uint32_t begin = std::max(f.key_offset, key_offset);
    const std::uint32_t end = std::min(f.key_offset + f.size_bytes, key_end);
    if (begin < end) encode_part(f, record, begin - f.key_offset, end - f.key_offset, bytes + (begin - key_offset));
  }
  return swap_bytes(load<std::uint64_t>(bytes));
}

int record_codec::compare_field(const field& f, const std::byte* a, const std::byte* b) noexcept {
  const std::byte* const left = a + f.record_offset;
  const std::byte* const right = b + f.record_offset;
  const auto compare_plain = [&](plain_bytes how) {
    const int order = std::memcmp(left, right, f.size_bytes);
    const int sign = static_cast<int>(order > 0) - static_cast<int>(order < 0);
    return how.is_inverted ? -sign : sign;
  };
  const auto compare_numbers = [&]<class K>(const keys::codec_of<K>& codec) {
    const K x = codec.encode(load<K>(left));
    const K y = codec.encode(load<K>(right));
    return static_cast<int>(x > y) - static_cast<int>(x < y);
  };
  return std::visit(overloaded{compare_plain, compare_numbers}, f.how);
}

int record_codec::compare(const std::byte* a, const std::byte* b) const noexcept {
  for (const field& f : fields_) {
    if (const int order = compare_field(f, a, b); order != 0) return order;
  }
  return 0;
}

}  // namespace spansort::records
