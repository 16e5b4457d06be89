// SPDX-License-Identifier: Apache-2.0
// Keys that networks compare as floating-point numbers: keys as far apart as numbers can stand for them and one
// further, floats of all kinds, and a processor that takes subnormal numbers for zeros. Sizes lie around those of one
// network and of two, and of the parts that a quicksort leaves them.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <vector>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "device/host/vector_sort.hpp"
#include "support/environment.hpp"

namespace spansort::device::host {
namespace {

// Networks of 64-bit keys hold half as many.
constexpr std::uint64_t sizes[] = {2,   16,  17,  33,  64,  65,  100, 128, 129, 130, 144, 161, 192, 193,  255,  256,
                                   257, 288, 289, 320, 321, 384, 385, 400, 511, 512, 513, 600, 640, 1023, 1025, 1500};

/// A key and the floating-point number of its width.
struct wide_keys {
  using key = std::uint64_t;
  using number = double;
  static constexpr key_type types[] = {key_type::u64, key_type::i64, key_type::f64};
};
struct narrow_keys {
  using key = std::uint32_t;
  using number = float;
  static constexpr key_type types[] = {key_type::u32, key_type::i32, key_type::f32};
};

template <class Keys>
class NumberForms : public testing::Test {
 protected:
  using word = typename Keys::key;
  static constexpr key_type float_type = Keys::types[2];
  static constexpr word sign = word{1} << (sizeof(word) * 8 - 1);

  void SetUp() override {
    if (!has_vector_sort()) GTEST_SKIP() << "vectors of this machine are too narrow";
  }

  /// `make(random)` makes the encoding of a key of ascending unsigned integers, or a key itself.
  template <class Make>
  void sort_all(std::span<const key_type> types, bool are_encoded, const Make& make) {
    for (const key_type type : types) {
      for (const bool descending : {false, true}) {
        const auto codec = keys::key_codec{.type = type, .descending = descending}.template of<word>();
        for (const std::uint64_t num_keys : sizes) {
          SCOPED_TRACE(std::to_string(static_cast<int>(type)) + (descending ? " descending " : " ascending ") +
                       std::to_string(num_keys));
          std::vector<word> keys(num_keys);
          for (word& k : keys) k = are_encoded ? codec.decode(make(random_)) : make(random_);
          std::vector<word> expected = keys;
          std::ranges::sort(expected, {}, [&](word k) { return codec.encode(k); });
          vector_sort(codec, keys.data(), keys.data(), num_keys,
                      {first_.data(), second_.data(), 4096, 4 * 4096, cursors_.data(), cursors_.size()});
          ASSERT_EQ(keys, expected);
        }
      }
    }
  }

 private:
  std::mt19937_64 random_{test::base_seed()};
  std::vector<word> first_ = std::vector<word>(4096 + 16), second_ = std::vector<word>(4 * 4096 + 16);
  std::vector<std::uint32_t> cursors_ = std::vector<std::uint32_t>(4096);
};
using key_widths = testing::Types<wide_keys, narrow_keys>;
TYPED_TEST_SUITE(NumberForms, key_widths);

TYPED_TEST(NumberForms, KeysAsFarApartAsNumbersReach) {
  using key = typename TypeParam::key;
  using limits = std::numeric_limits<typename TypeParam::number>;
  constexpr key one_sign = std::bit_cast<key>(limits::infinity()) - std::bit_cast<key>(limits::min());
  for (const key signs : {1, 2}) {
    for (key range = signs * one_sign - 3; range != signs * one_sign + 5; ++range) {
      for (const key least : {key{0}, static_cast<key>(~key{0} - range)}) {
        // Both ends are likely to be there, and so is the middle, where numbers of two signs meet.
        this->sort_all(TypeParam::types, true, [&](std::mt19937_64& random) {
          const key places[] = {0,
                                range,
                                range / 2 - 1,
                                range / 2,
                                range / 2 + 1,
                                static_cast<key>(random() % range),
                                static_cast<key>(random() % 100)};
          return static_cast<key>(least + places[random() % 7]);
        });
      }
    }
  }
}

TYPED_TEST(NumberForms, FloatsOfAllKinds) {
  using key = typename TypeParam::key;
  using limits = std::numeric_limits<typename TypeParam::number>;
  using number = typename TypeParam::number;
  const std::vector<number> specials = {number{0},          limits::denorm_min(), limits::min(),
                                        limits::infinity(), limits::quiet_NaN(),  limits::signaling_NaN()};
  // More of the kinds each time, and in the second half of the sign they have, too.
  for (std::size_t kinds = 1; kinds <= 2 * specials.size(); ++kinds) {
    this->sort_all({&TestFixture::float_type, 1}, false, [&](std::mt19937_64& random) {
      const auto plain = static_cast<number>(static_cast<std::int64_t>(random())) * static_cast<number>(0x1p-70);
      const std::size_t which = random() % (4 * kinds);
      if (which >= kinds) return std::bit_cast<key>(plain);
      const key bits = std::bit_cast<key>(specials[which / 2]);
      return which % 2 == 0 ? bits : static_cast<key>(bits | TestFixture::sign);
    });
  }
}

#if defined(__x86_64__)
TYPED_TEST(NumberForms, SubnormalNumbersWhereTheProcessorTakesThemForZeros) {
  using key = typename TypeParam::key;
  using number = typename TypeParam::number;
  constexpr unsigned are_zeros = 0x8040;
  const unsigned before = _mm_getcsr();
  const auto make = [](std::mt19937_64& random) {
    const auto bits = static_cast<key>(random());
    if (bits % 4 == 0) return std::bit_cast<key>(static_cast<number>(bits));
    return static_cast<key>(bits >> 13 | (bits & TestFixture::sign));
  };
  _mm_setcsr(before | are_zeros);
  this->sort_all(TypeParam::types, false, make);
  _mm_setcsr(before);
  this->sort_all(TypeParam::types, false, make);
}
#endif

}  // namespace
}  // namespace spansort::device::host
