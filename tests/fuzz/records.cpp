// SPDX-License-Identifier: Apache-2.0
// Records of any bytes by a format of any fields: the normalised key, its words and the comparison of fields must tell
// the same order, and read nothing outside of a record. The first byte is the record's size, the second the direction
// and the length of the format's text; records follow.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "byte_reader.hpp"
#include "records/record_codec.hpp"
#include "spansort/errors.hpp"
#include "spansort/records.hpp"

namespace {

using spansort::records::record_codec;

/// Memory of just the record's size, so that a sanitizer sees what is read outside.
std::unique_ptr<std::byte[]> copy_of(const std::uint8_t* record, std::size_t size_bytes) {
  auto copy = std::make_unique<std::byte[]>(size_bytes);
  std::memcpy(copy.get(), record, size_bytes);
  return copy;
}

int sign(int comparison) { return (comparison > 0) - (comparison < 0); }

/// The order of the words, which zeros fill up behind the key.
int compare_words(const record_codec& codec, const std::byte* a, const std::byte* b) {
  for (std::uint32_t at = 0; at < codec.key_bytes(); at += 8) {
    const std::uint64_t left = codec.word(a, at);
    const std::uint64_t right = codec.word(b, at);
    if (left != right) return left < right ? -1 : 1;
  }
  return 0;
}

void compare(const record_codec& codec, const std::byte* a, const std::byte* b) {
  std::vector<std::byte> left(codec.key_bytes());
  std::vector<std::byte> right(codec.key_bytes());
  codec.encode(a, left.data());
  codec.encode(b, right.data());
  const int by_bytes = sign(std::memcmp(left.data(), right.data(), left.size()));
  if (codec.compare(a, b) != by_bytes || codec.compare(b, a) != -by_bytes) std::abort();
  if (compare_words(codec, a, b) != by_bytes) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  spansort::fuzz::byte_reader input(data, size);
  const std::uint64_t record_bytes = input.number();
  const std::uint64_t flags = input.number();
  const std::size_t text_bytes = std::min<std::size_t>(flags >> 1, input.rest().size());
  const std::string_view text(reinterpret_cast<const char*>(input.rest().data()), text_bytes);
  const auto records = input.rest().subspan(text_bytes);
  try {
    const spansort::record_format format = spansort::parse_record_format(record_bytes, text);
    if (spansort::parse_record_format(record_bytes, to_string(format.keys)) != format) std::abort();
    const record_codec codec(format, (flags & 1) != 0);
    for (std::size_t at = 0; at + 2 * record_bytes <= records.size(); at += record_bytes) {
      const auto one = copy_of(records.data() + at, record_bytes);
      const auto other = copy_of(records.data() + at + record_bytes, record_bytes);
      compare(codec, one.get(), other.get());
    }
  } catch (const spansort::error&) {
  }
  return 0;
}
