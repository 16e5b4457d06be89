// SPDX-License-Identifier: Apache-2.0
// Normalised keys: their memcmp order is the order of the fields.
#include <gtest/gtest.h>

#include <cstring>

#include "record_case.hpp"
#include "records/record_codec.hpp"

namespace spansort::test {
namespace {

bytes encoded(const records::record_codec& codec, const std::byte* record) {
  bytes key(codec.key_bytes());
  codec.encode(record, key.data());
  return key;
}

int sign(int order) { return (order > 0 ? 1 : 0) - (order < 0 ? 1 : 0); }

int expected_order(const record_format& format, bool descending, const std::byte* a, const std::byte* b) {
  if (record_precedes(format, descending, a, b)) return -1;
  return record_precedes(format, descending, b, a) ? 1 : 0;
}

TEST(RecordCodec, OrderOfNormalisedKeysIsThatOfTheFields) {
  constexpr std::uint64_t num_records = 40;
  for (std::uint64_t i = 0; i < num_cases(300); ++i) {
    random_words random(seed_for(i));
    const record_format format = random_format(random);
    const record_contents contents = all_contents[i % std::size(all_contents)];
    const bool descending = random.below(2) == 1;
    const bytes records = make_records(format, num_records, contents, random);
    const records::record_codec codec(format, descending);
    for (std::uint64_t pair = 0; pair < 200; ++pair) {
      const std::byte* const a = &records[random.below(num_records) * format.record_bytes];
      const std::byte* const b = &records[random.below(num_records) * format.record_bytes];
      const int expected = expected_order(format, descending, a, b);
      const int actual = sign(std::memcmp(encoded(codec, a).data(), encoded(codec, b).data(), codec.key_bytes()));
      ASSERT_EQ(actual, expected) << describe(format) << ", seed " << seed_for(i);
      ASSERT_EQ(codec.compare(a, b), expected) << describe(format) << ", seed " << seed_for(i);
    }
  }
}

TEST(RecordCodec, WordsAreTheKeyFilledUpWithZeros) {
  for (std::uint64_t i = 0; i < num_cases(300); ++i) {
    random_words random(seed_for(i));
    const record_format format = random_format(random);
    const bytes record = make_records(format, 1, record_contents::random, random);
    const records::record_codec codec(format, random.below(2) == 1);
    bytes key = encoded(codec, record.data());
    key.resize(key.size() + 16);
    for (std::uint32_t offset = 0; offset < codec.key_bytes() + 8; ++offset) {
      std::uint64_t expected = 0;
      for (std::uint32_t j = 0; j < 8; ++j) expected = expected << 8 | std::to_integer<std::uint64_t>(key[offset + j]);
      ASSERT_EQ(codec.word(record.data(), offset), expected) << describe(format) << " at " << offset;
    }
  }
}

TEST(RecordCodec, NumbersAreBigEndianWithTheSignTurned) {
  const records::record_codec codec(parse_record_format(6, "0:4:u32,4:2:i16,4:2:i16:r"), false);
  const bytes record{std::byte{4}, std::byte{3}, std::byte{2}, std::byte{1}, std::byte{0xfe}, std::byte{0xff}};
  const bytes expected{std::byte{1},    std::byte{2},    std::byte{3},    std::byte{4},
                       std::byte{0x7f}, std::byte{0xfe}, std::byte{0x80}, std::byte{0x01}};
  EXPECT_EQ(encoded(codec, record.data()), expected);
}

}  // namespace
}  // namespace spansort::test
