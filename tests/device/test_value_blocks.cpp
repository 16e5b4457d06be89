// SPDX-License-Identifier: Apache-2.0
// Pairs of up to 16 keys whose values are moved to blocks of their class: keys that are known beforehand and such that
// are met on the way, classes of one pair and of many blocks, sizes that are whole groups or not. Keys too many, and
// those that tie with other bits, are refused with nothing written.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "device/host/block_pairs.hpp"
#include "support/environment.hpp"

namespace spansort::device::host {
namespace {

using key = std::uint32_t;
constexpr std::uint64_t red_zone = 40;

template <class V>
class value_blocks_test : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_value_blocks()) GTEST_SKIP() << "this machine has no AVX-512, or less of it";
  }
};
using value_types = testing::Types<value4, value8>;
TYPED_TEST_SUITE(value_blocks_test, value_types);

template <class V>
std::vector<V> positions(std::uint64_t num_pairs) {
  std::vector<V> values(num_pairs);
  for (std::uint64_t i = 0; i < num_pairs; ++i) std::memcpy(&values[i], &i, sizeof(V));
  return values;
}

template <class V>
std::uint64_t position_of(V value) {
  return value.word;
}

std::vector<key> different_keys(unsigned count, std::mt19937_64& random) {
  std::vector<key> keys;
  while (keys.size() < count) {
    const auto any = static_cast<key>(random());
    if (std::find(keys.begin(), keys.end(), any) == keys.end()) keys.push_back(any);
  }
  return keys;
}

/// Keys of `wanted`, where `skewed` the first ones much more often than the last.
std::vector<key> draw(const std::vector<key>& wanted, std::uint64_t num_pairs, bool skewed, std::mt19937_64& random) {
  std::vector<key> keys(num_pairs);
  for (key& k : keys) {
    std::uint64_t at = random() % wanted.size();
    if (skewed) at = std::min(at, random() % wanted.size() * (random() % wanted.size()) / wanted.size());
    k = wanted[at];
  }
  return keys;
}

TYPED_TEST(value_blocks_test, HoldTheValuesOfEachKeyInInputOrder) {
  using V = TypeParam;
  std::mt19937_64 random(test::base_seed());
  for (const unsigned num_keys : {1U, 2U, 5U, 15U, 16U}) {
    for (const std::uint64_t num_pairs : {1, 63, 64, 65, 700, 4096, 30'011, 65'536}) {
      for (const bool skewed : {false, true}) {
        SCOPED_TRACE(std::to_string(num_keys) + " keys, " + std::to_string(num_pairs) + " pairs");
        std::vector<key> wanted = different_keys(num_keys, random);
        if (num_keys == 1 && skewed) wanted[0] = 0;
        const std::vector<key> keys = draw(wanted, num_pairs, skewed, random);
        const std::vector<V> values = positions<V>(num_pairs);
        const std::uint64_t num_room = block_mover<V>::room_for(num_pairs);
        std::vector<V> room(num_room + red_zone, V{77});
        block_mover<V> mover(room.data());
        const std::size_t num_told = random() % (num_keys + 1);
        ASSERT_TRUE(mover.take(std::span(wanted).first(num_told)));
        ASSERT_TRUE(mover.move(keys.data(), values.data(), num_pairs));
        std::uint64_t num_found = 0;
        for (unsigned c = 0; c < mover.num_classes(); ++c) {
          ASSERT_TRUE(c >= num_told || mover.key(c) == wanted[c]);
          std::vector<V> of_class(mover.count(c) + red_zone, V{77});
          ASSERT_EQ(mover.copy(c, of_class.data(), false), of_class.data() + mover.count(c));
          std::uint64_t at = 0;
          for (std::uint64_t i = 0; i < num_pairs; ++i) {
            if (keys[i] != mover.key(c)) continue;
            ASSERT_LT(at, mover.count(c));
            ASSERT_EQ(position_of(of_class[at++]), i);
          }
          ASSERT_EQ(at, mover.count(c));
          for (; at < of_class.size(); ++at) ASSERT_EQ(position_of(of_class[at]), 77U);
          num_found += mover.count(c);
        }
        ASSERT_EQ(num_found, num_pairs);
        for (std::uint64_t i = 0; i < red_zone; ++i) ASSERT_EQ(position_of(room[num_room + i]), 77U);
      }
    }
  }
}

TYPED_TEST(value_blocks_test, RefuseSeventeenKeys) {
  using V = TypeParam;
  std::mt19937_64 random(test::base_seed());
  for (const std::uint64_t num_pairs : {17, 64, 5000}) {
    const std::vector<key> wanted = different_keys(17, random);
    for (const std::uint64_t last : {std::uint64_t{16}, num_pairs / 2, num_pairs - 1}) {
      std::vector<key> keys = draw({wanted.begin(), wanted.begin() + 16}, num_pairs, false, random);
      std::copy_n(wanted.begin(), 16, keys.begin());
      keys[last] = wanted[16];
      // Of the keys that another one has displaced there may be no other pair.
      if (last < 16) continue;
      const std::vector<V> values = positions<V>(num_pairs);
      std::vector<V> room(block_mover<V>::room_for(num_pairs));
      block_mover<V> mover(room.data());
      ASSERT_TRUE(mover.take({}));
      ASSERT_FALSE(mover.move(keys.data(), values.data(), num_pairs)) << num_pairs << " pairs, " << last;
    }
  }
}

/// Sorts pairs of `keys` as numbers of `type`, in place or not. Returns whether that was done, and expects what a
/// stable sort leaves, or the input.
template <class V, class Order>
bool sorts(const keys::key_codec& codec, const std::vector<key>& keys, bool in_place) {
  const auto of_width = codec.of<key>();
  const Order order(of_width);
  const std::uint64_t num_pairs = keys.size();
  std::vector<std::uint64_t> expected(num_pairs);
  std::iota(expected.begin(), expected.end(), std::uint64_t{0});
  std::stable_sort(expected.begin(), expected.end(), [&](std::uint64_t left, std::uint64_t right) {
    return of_width.encode(keys[left]) < of_width.encode(keys[right]);
  });
  std::vector<key> from_keys = keys;
  std::vector<V> from_values = positions<V>(num_pairs);
  std::vector<key> result_keys = keys;
  std::vector<V> result_values = positions<V>(num_pairs);
  result_keys.resize(num_pairs + red_zone, 77);
  result_values.resize(num_pairs + red_zone, V{77});
  std::vector<V> room(block_mover<V>::room_for(num_pairs));
  const split_records<key, V> result{result_keys.data(), result_values.data()};
  const split_records<key, V> from = in_place ? result : split_records<key, V>{from_keys.data(), from_values.data()};
  const bool done = sort_few_by_blocks(order, from, result, num_pairs, room.data());
  for (std::uint64_t i = 0; i < num_pairs; ++i) {
    const std::uint64_t wanted = done ? expected[i] : i;
    EXPECT_EQ(result_keys[i], keys[wanted]) << i;
    EXPECT_EQ(position_of(result_values[i]), wanted) << i;
    if (testing::Test::HasFailure()) return done;
  }
  for (std::uint64_t i = 0; i < red_zone; ++i) {
    EXPECT_EQ(result_keys[num_pairs + i], 77U);
    EXPECT_EQ(position_of(result_values[num_pairs + i]), 77U);
  }
  return done;
}

TYPED_TEST(value_blocks_test, SortPairsOfAFewKeys) {
  using V = TypeParam;
  std::mt19937_64 random(test::base_seed());
  for (const key_type type : {key_type::u32, key_type::i32}) {
    for (const bool descending : {false, true}) {
      const keys::key_codec codec{type, descending, keys::tie_rule::by_input_order};
      for (const unsigned num_keys : {1U, 7U, 16U}) {
        for (const std::uint64_t num_pairs : {1024, 5001, 65'536}) {
          const std::vector<key> wanted = different_keys(num_keys, random);
          const bool in_place = random() % 2 == 0;
          const auto done = sorts<V, bijective_order<key>>(codec, draw(wanted, num_pairs, false, random), in_place);
          ASSERT_TRUE(done) << num_keys << " keys, " << num_pairs << " pairs";
          ASSERT_FALSE(testing::Test::HasFailure());
        }
      }
    }
  }
}

TYPED_TEST(value_blocks_test, LeaveManyKeysAndThoseThatTie) {
  using V = TypeParam;
  std::mt19937_64 random(test::base_seed());
  const keys::key_codec numbers{key_type::f32, false, keys::tie_rule::by_input_order};
  constexpr key negative_zero = 0x80000000U;
  constexpr key quiet_nan = 0x7FC00000U;
  constexpr key other_nan = 0x7FC00001U;
  constexpr key one = 0x3F800000U;
  constexpr key minus_two = 0xC0000000U;
  using folding = folding_order<key>;
  const auto of = [&](const std::vector<key>& wanted) { return draw(wanted, 3000, false, random); };
  EXPECT_TRUE((sorts<V, folding>(numbers, of({one, minus_two, 0}), true)));
  EXPECT_TRUE((sorts<V, folding>(numbers, of({quiet_nan, negative_zero, minus_two}), false)));
  EXPECT_FALSE((sorts<V, folding>(numbers, of({one, 0, minus_two, negative_zero}), true)));
  EXPECT_FALSE((sorts<V, folding>(numbers, of({one, quiet_nan, other_nan}), true)));
  const keys::key_codec plain{key_type::u32, false, keys::tie_rule::by_input_order};
  EXPECT_FALSE((sorts<V, bijective_order<key>>(plain, of(different_keys(17, random)), true)));
  // The last pair has the seventeenth key.
  std::vector<key> keys = of({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16});
  keys.back() = 17;
  EXPECT_FALSE((sorts<V, bijective_order<key>>(plain, keys, true)));
}

}  // namespace
}  // namespace spansort::device::host
