// SPDX-License-Identifier: Apache-2.0
// Keys of 64 bits that networks compare as doubles: keys as far apart as doubles can stand for them and one further,
// floats of all kinds, and a processor that takes subnormal numbers for zeros. Sizes lie around those of one network
// and of two.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "device/host/vector_sort.hpp"
#include "support/environment.hpp"

namespace spansort::device::host {
namespace {

using key = std::uint64_t;
constexpr std::uint64_t sizes[] = {2,   16,  17,  33,  64,  65,  100, 128, 129, 130, 144, 161, 192, 193, 255,
                                   256, 257, 288, 289, 320, 321, 384, 385, 400, 511, 512, 513, 600, 1500};

struct scratch_arrays {
  std::vector<key> first = std::vector<key>(4096 + 8), second = std::vector<key>(4 * 4096 + 8);
  std::vector<std::uint32_t> cursors = std::vector<std::uint32_t>(4096);
  vector_sort_scratch<key> get() {
    return {first.data(), second.data(), 4096, 4 * 4096, cursors.data(), cursors.size()};
  }
};

/// `make(random)` makes the encoding of a key of ascending u64, or a key itself.
template <class Make>
void sort_all(const std::vector<key_type>& types, bool are_encoded, const Make& make) {
  if (!has_vector_sort()) GTEST_SKIP() << "vectors of this machine are too narrow";
  scratch_arrays scratch;
  std::mt19937_64 random(test::base_seed());
  for (const key_type type : types) {
    for (const bool descending : {false, true}) {
      const auto codec = keys::key_codec{.type = type, .descending = descending}.of<key>();
      for (const std::uint64_t num_keys : sizes) {
        SCOPED_TRACE(std::to_string(static_cast<int>(type)) + (descending ? " descending " : " ascending ") +
                     std::to_string(num_keys));
        std::vector<key> keys(num_keys);
        for (key& k : keys) k = are_encoded ? codec.decode(make(random)) : make(random);
        std::vector<key> expected = keys;
        std::ranges::sort(expected, {}, [&](key k) { return codec.encode(k); });
        vector_sort(codec, keys.data(), keys.data(), num_keys, scratch.get());
        ASSERT_EQ(keys, expected);
      }
    }
  }
}

const std::vector<key_type> all_types = {key_type::u64, key_type::i64, key_type::f64};

TEST(NumberForms, KeysAsFarApartAsDoublesReach) {
  constexpr key one_sign = std::bit_cast<key>(std::numeric_limits<double>::infinity()) -
                           std::bit_cast<key>(std::numeric_limits<double>::min());
  for (const key signs : {1, 2}) {
    for (key range = signs * one_sign - 3; range <= signs * one_sign + 4; ++range) {
      for (const key least : {key{0}, ~key{0} - range}) {
        // Both ends are likely to be there, and so is the middle, where doubles of two signs meet.
        sort_all(all_types, true, [&](std::mt19937_64& random) {
          const key places[] = {0, range, range / 2 - 1, range / 2, range / 2 + 1, random() % range, random() % 100};
          return least + places[random() % 7];
        });
      }
    }
  }
}

TEST(NumberForms, FloatsOfAllKinds) {
  constexpr key sign = key{1} << 63;
  const std::vector<double> specials = {0.0,
                                        std::numeric_limits<double>::denorm_min(),
                                        std::numeric_limits<double>::min(),
                                        std::numeric_limits<double>::infinity(),
                                        std::numeric_limits<double>::quiet_NaN(),
                                        std::numeric_limits<double>::signaling_NaN()};
  // More of the kinds each time, and in the second half of the sign they have, too.
  for (std::size_t kinds = 1; kinds <= 2 * specials.size(); ++kinds) {
    sort_all({key_type::f64}, false, [&](std::mt19937_64& random) {
      const double plain = static_cast<double>(static_cast<std::int64_t>(random())) * 0x1p-70;
      const std::size_t which = random() % (4 * kinds);
      if (which >= kinds) return std::bit_cast<key>(plain);
      const key bits = std::bit_cast<key>(specials[which / 2]);
      return which % 2 == 0 ? bits : bits | sign;
    });
  }
}

#if defined(__x86_64__)
TEST(NumberForms, SubnormalNumbersWhereTheProcessorTakesThemForZeros) {
  constexpr unsigned are_zeros = 0x8040;
  const unsigned before = _mm_getcsr();
  const auto make = [](std::mt19937_64& random) {
    const key bits = random();
    return bits % 4 == 0 ? std::bit_cast<key>(static_cast<double>(bits)) : bits >> 13 | (bits & key{1} << 63);
  };
  _mm_setcsr(before | are_zeros);
  sort_all(all_types, false, make);
  _mm_setcsr(before);
  sort_all(all_types, false, make);
}
#endif

}  // namespace
}  // namespace spansort::device::host
