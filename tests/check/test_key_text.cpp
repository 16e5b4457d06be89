// SPDX-License-Identifier: Apache-2.0
// key_to_string(): what a person reads; short, and precise enough to find the key again.
#include <gtest/gtest.h>

#include <clocale>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "spansort/check.hpp"
#include "support/environment.hpp"

namespace spansort {
namespace {

template <class T>
std::string text(T key) {
  const std::vector<T> keys{T{}, key};
  return key_to_string(as_const_key_span(std::span(keys)), 1);
}

TEST(KeyText, Integers) {
  EXPECT_EQ(text(std::uint8_t{255}), "255");
  EXPECT_EQ(text(std::int8_t{-128}), "-128");
  EXPECT_EQ(text(std::uint16_t{65535}), "65535");
  EXPECT_EQ(text(std::int16_t{-3}), "-3");
  EXPECT_EQ(text(std::numeric_limits<std::uint32_t>::max()), "4294967295");
  EXPECT_EQ(text(std::numeric_limits<std::int32_t>::min()), "-2147483648");
  EXPECT_EQ(text(std::numeric_limits<std::uint64_t>::max()), "18446744073709551615");
  EXPECT_EQ(text(std::numeric_limits<std::int64_t>::min()), "-9223372036854775808");
}

TEST(KeyText, Floats) {
  EXPECT_EQ(text(0.1f), "0.1");
  EXPECT_EQ(text(0.1), "0.1");
  EXPECT_EQ(text(-0.0), "-0");
  EXPECT_EQ(text(1e300), "1e+300");
  EXPECT_EQ(text(5e-324), "5e-324");
  EXPECT_EQ(text(std::numeric_limits<double>::infinity()), "inf");
  EXPECT_EQ(text(-std::numeric_limits<float>::infinity()), "-inf");
  EXPECT_EQ(text(std::numeric_limits<float>::quiet_NaN()), "nan");
  EXPECT_EQ(text(-std::numeric_limits<double>::quiet_NaN()), "nan");
}

TEST(KeyText, SixteenBitFloats) {
  EXPECT_EQ(text(float16{0x2e66}), "0.1");
  EXPECT_EQ(text(float16{0x3c00}), "1");
  EXPECT_EQ(text(float16{0xc000}), "-2");
  EXPECT_EQ(text(float16{0x8000}), "-0");
  EXPECT_EQ(text(float16{0x0000}), "0");
  EXPECT_EQ(text(float16{0x7c00}), "inf");
  EXPECT_EQ(text(float16{0xfc00}), "-inf");
  EXPECT_EQ(text(float16{0xfc01}), "nan");
  EXPECT_EQ(text(float16{0x0001}), "6e-08");
  EXPECT_EQ(text(bfloat16{0x3dcd}), "0.1");
  EXPECT_EQ(text(bfloat16{0xbf80}), "-1");
  EXPECT_EQ(text(bfloat16{0x7f80}), "inf");
  EXPECT_EQ(text(bfloat16{0x7fc0}), "nan");
}

/// The nearest value of the format to the text is the key: no other key of the type is nearer or as near.
void expect_round_trip(std::uint32_t bits, std::uint32_t width_shift) {
  const double read = std::strtod(text(bfloat16{static_cast<std::uint16_t>(bits)}).c_str(), nullptr);
  float here;
  const std::uint32_t wide = bits << width_shift;
  std::memcpy(&here, &wide, 4);
  for (const std::uint32_t near : {bits - 1, bits + 1}) {
    float other;
    const std::uint32_t wide_near = near << width_shift;
    std::memcpy(&other, &wide_near, 4);
    ASSERT_LT(std::fabs(read - here), std::fabs(read - other)) << bits;
  }
}

TEST(KeyText, EveryFiniteBfloat16IsToldFromItsNeighbours) {
  for (std::uint32_t bits = 1; bits < 0x7f7f; ++bits) expect_round_trip(bits, 16);
}

TEST(KeyText, DoublesReadBackToTheSameBits) {
  test::random_words random(test::seed_for(1));
  for (int i = 0; i < 10'000; ++i) {
    const std::uint64_t bits = random();
    double key;
    std::memcpy(&key, &bits, 8);
    if (!std::isfinite(key)) continue;
    ASSERT_EQ(std::strtod(text(key).c_str(), nullptr), key);
  }
}

TEST(KeyText, IgnoresTheLocale) {
  const char* chosen = std::setlocale(LC_ALL, "de_DE.UTF-8");
  EXPECT_EQ(text(1234567.5), "1234567.5") << (chosen == nullptr ? "locale de_DE is not installed" : chosen);
  std::setlocale(LC_ALL, "C");
}

}  // namespace
}  // namespace spansort
