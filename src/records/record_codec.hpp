// SPDX-License-Identifier: Apache-2.0
// The normalised key of a record: all its fields, encoded big-endian one after the other, so that memcmp of two keys
// orders the records. Fields of equal value have equal bytes: -0.0 is +0.0 there, and every NaN one NaN.
#pragma once

#include <cstddef>
#include <cstdint>
#include <variant>
#include <vector>

#include "keys/codec.hpp"
#include "spansort/records.hpp"

namespace spansort::records {

/// A field in the order of memcmp, or the inverse of that.
struct plain_bytes {
  bool is_inverted = false;
};

class record_codec {
 public:
  /// `descending` turns the direction of every field around. Throws invalid_argument as check_record_format().
  record_codec(const record_format& format, bool descending);

  [[nodiscard]] std::uint32_t record_bytes() const noexcept { return record_bytes_; }
  /// Bytes of a normalised key: the sum of the fields' sizes.
  [[nodiscard]] std::uint32_t key_bytes() const noexcept { return key_bytes_; }

  /// Writes key_bytes() bytes.
  void encode(const std::byte* record, std::byte* key) const noexcept;
  /// Bytes [key_offset, key_offset + 8) of the normalised key as a number with the order of memcmp; zeros stand for
  /// what is beyond its end.
  [[nodiscard]] std::uint64_t word(const std::byte* record, std::uint32_t key_offset) const noexcept;
  /// -1, 0 or 1 as record `a` comes before, together with, or after `b`.
  [[nodiscard]] int compare(const std::byte* a, const std::byte* b) const noexcept;

 private:
  using encoding = std::variant<plain_bytes, keys::codec_of<std::uint8_t>, keys::codec_of<std::uint16_t>,
                                keys::codec_of<std::uint32_t>, keys::codec_of<std::uint64_t>>;
  struct field {
    std::uint32_t record_offset = 0;
    std::uint32_t key_offset = 0;
    std::uint32_t size_bytes = 0;
    encoding how = {};
  };
  static encoding encoding_of(const record_key& key, bool descending);
  static void encode_part(const field& f, const std::byte* record, std::uint32_t begin, std::uint32_t end,
                          std::byte* to) noexcept;
  static int compare_field(const field& f, const std::byte* a, const std::byte* b) noexcept;

  std::uint32_t record_bytes_ = 0;
  std::uint32_t key_bytes_ = 0;
  std::vector<field> fields_;  // in order of key_offset
};

}  // namespace spansort::records
