// SPDX-License-Identifier: Apache-2.0
// Digits, bit ranges, prefixes, and names of key types.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "keys/digit.hpp"
#include "keys/dispatch.hpp"
#include "spansort/errors.hpp"
#include "spansort/types.hpp"
#include "support/environment.hpp"

namespace spansort {
namespace {

using keys::digit_position;
using keys::prefix;

TEST(Digit, TakesItsBitsAndNoOthers) {
  test::random_words random(test::seed_for(1));
  for (unsigned bits = 1; bits <= 12; ++bits) {
    for (unsigned shift = 0; shift + bits <= 64; ++shift) {
      const digit_position digit{shift, bits};
      ASSERT_EQ(digit.num_buckets(), std::uint64_t{1} << bits);
      const std::uint64_t key = random();
      std::uint64_t expected = 0;
      for (unsigned i = 0; i < bits; ++i) expected |= ((key >> (shift + i)) & 1) << i;
      ASSERT_EQ(digit.of(key), expected) << "shift " << shift << ", bits " << bits;
    }
  }
}

TEST(Digit, WholeKeyIsADigit) {
  EXPECT_EQ((digit_position{0, 64}.of(~std::uint64_t{0})), ~std::uint64_t{0});
  EXPECT_EQ((digit_position{32, 0}.of(~std::uint64_t{0})), 0u);
}

TEST(BitRange, SizeAndEmptiness) {
  EXPECT_EQ((keys::bit_range{8, 32}.size()), 24u);
  EXPECT_TRUE((keys::bit_range{8, 8}.empty()));
  EXPECT_FALSE((keys::bit_range{0, 1}.empty()));
}

TEST(Prefix, ChildrenSpellTheKeyFromTheTop) {
  test::random_words random(test::seed_for(2));
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t key = random();
    prefix p;
    while (p.bit_count < 64) {
      const unsigned bits = static_cast<unsigned>(std::min<std::uint64_t>(1 + random.below(12), 64 - p.bit_count));
      p = p.child(digit_position{64 - p.bit_count - bits, bits}.of(key), bits);
      ASSERT_EQ(p.bits, key >> (64 - p.bit_count));
    }
  }
}

TEST(Prefix, SameBitsOfDifferentLengthAreDifferent) {
  EXPECT_NE((prefix{0, 8}), (prefix{0, 16}));
  EXPECT_EQ((prefix{}.child(3, 8)), (prefix{3, 8}));
}

TEST(WithWidth, GivesTheUnsignedIntegerOfThatWidth) {
  for (const unsigned width : {1u, 2u, 4u, 8u}) {
    EXPECT_EQ(keys::with_width(width, []<class K>() { return sizeof(K); }), width);
  }
  EXPECT_THROW(keys::with_width(3, []<class K>() { return sizeof(K); }), internal_error);
}

TEST(KeyType, NamesAndSizesGoBothWays) {
  const std::map<std::string, std::size_t> sizes{{"u8", 1},  {"i8", 1},   {"u16", 2}, {"i16", 2},
                                                 {"u32", 4}, {"i32", 4},  {"u64", 8}, {"i64", 8},
                                                 {"f16", 2}, {"bf16", 2}, {"f32", 4}, {"f64", 8}};
  for (const auto& [text, bytes] : sizes) {
    const key_type type = parse_key_type(text);
    EXPECT_EQ(name(type), text);
    EXPECT_EQ(size_bytes(type), bytes);
  }
}

TEST(KeyType, NamesOfNumPyAndDatabasesAreTaken) {
  const std::map<std::string, key_type> names{
      {"uint8", key_type::u8},     {"int16", key_type::i16},    {"half", key_type::f16},   {"bfloat16", key_type::bf16},
      {"single", key_type::f32},   {"float64", key_type::f64},  {"double", key_type::f64}, {"DOUBLE", key_type::f64},
      {"FLOAT", key_type::f32},    {"REAL", key_type::f32},     {"INT", key_type::i32},    {"integer", key_type::i32},
      {"UINTEGER", key_type::u32}, {"UBIGINT", key_type::u64},  {"bigint", key_type::i64}, {"Tinyint", key_type::i8},
      {"utinyint", key_type::u8},  {"USMALLINT", key_type::u16}};
  for (const auto& [text, type] : names) EXPECT_EQ(parse_key_type(text), type) << text;
}

TEST(KeyType, RefusalsSayWhatIsMeant) {
  const std::map<std::string, std::string> hints{
      {"float", "f32 or f64"}, {"int", "i32 or i64"}, {"INT8", "i64 or i8"}, {"HUGEINT", "128 bits"},
      {"hugeint", "128 bits"}, {"<f4", "f32"},        {"f8", "f64"},         {">u8", "u64"},
      {"u4", "u32"},           {"i1", "i8"}};
  for (const auto& [text, hint] : hints) {
    try {
      (void)parse_key_type(text);
      ADD_FAILURE() << "accepted '" << text << "'";
    } catch (const invalid_argument& e) {
      const std::string message = e.what();
      EXPECT_NE(message.substr(0, message.find("known are")).find(hint), std::string::npos) << message;
    }
  }
}

TEST(KeyType, UnknownNamesAreRefusedWithTheKnownOnes) {
  for (const char* text : {"", "u", "u128", "F32", "f32 ", "float"}) {
    try {
      (void)parse_key_type(text);
      ADD_FAILURE() << "accepted '" << text << "'";
    } catch (const invalid_argument& e) {
      EXPECT_NE(std::string(e.what()).find("bf16"), std::string::npos) << e.what();
      EXPECT_EQ(e.exit_status(), 2);
    }
  }
}

}  // namespace
}  // namespace spansort
