// SPDX-License-Identifier: Apache-2.0
// Keys of which one value is most, against std::sort: every type and direction, a majority that is the least, the
// greatest or in the midst, what is left with a majority of its own, and arrays whose sampled places deceive.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <random>
#include <vector>

#include "device/host/majority_key.hpp"
#include "device/host/network_sort.hpp"
#include "device/host/small_sort.hpp"
#include "device/host/vector_sort.hpp"
#include "keys/codec.hpp"
#include "support/environment.hpp"

namespace spansort::device::host {
namespace {

template <class K>
class majority_key_test : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_vector_sort()) GTEST_SKIP() << "the majority is looked for by wide vectors alone";
  }

  static const std::vector<key_type>& types() {
    static const std::vector<key_type> of_2 = {key_type::u16, key_type::i16, key_type::f16, key_type::bf16};
    static const std::vector<key_type> of_4 = {key_type::u32, key_type::i32, key_type::f32};
    static const std::vector<key_type> of_8 = {key_type::u64, key_type::i64, key_type::f64};
    return sizeof(K) == 2 ? of_2 : sizeof(K) == 4 ? of_4 : of_8;
  }

  /// Keys of which `percent` are `majority`, as many of the others a second value, and the rest random.
  [[nodiscard]] std::vector<K> make(std::uint64_t num_keys, K majority, unsigned percent) {
    const auto second = static_cast<K>(random_());
    std::vector<K> keys(num_keys);
    for (K& key : keys) {
      key = random_() % 100 < percent ? majority : random_() % 100 < percent ? second : static_cast<K>(random_());
    }
    return keys;
  }

  /// Sorts by each type and direction, in an array whose neighbours must stay.
  void expect_sorted(const std::vector<K>& keys) {
    for (const key_type type : types()) {
      for (const direction d : {direction::ascending, direction::descending}) {
        const auto codec = keys::key_codec{type, d == direction::descending, keys::tie_rule::by_bits}.of<K>();
        std::vector<K> expected = keys;
        std::sort(expected.begin(), expected.end(),
                  [&](K left, K right) { return codec.encode_bits(left) < codec.encode_bits(right); });
        std::vector<K> guarded(keys.size() + 2, K{77});
        std::copy(keys.begin(), keys.end(), guarded.begin() + 1);
        if (!sort_smallest(type, guarded.data() + 1, keys.size(), d)) {
          sort_small({type, d == direction::descending, keys::tie_rule::by_bits}, guarded.data() + 1, keys.size());
        }
        ASSERT_TRUE(std::equal(expected.begin(), expected.end(), guarded.begin() + 1))
            << keys.size() << " keys of type " << static_cast<int>(type);
        ASSERT_EQ(guarded.front(), K{77});
        ASSERT_EQ(guarded.back(), K{77});
      }
    }
  }

  std::mt19937_64 random_{test::base_seed()};
};

using widths = testing::Types<std::uint16_t, std::uint32_t, std::uint64_t>;
TYPED_TEST_SUITE(majority_key_test, widths);

TYPED_TEST(majority_key_test, Sorts) {
  using K = TypeParam;
  for (const std::uint64_t num_keys :
       {100, 128, 129, 255, 256, 257, 385, 500, 512, 513, 1000, 1024, 1025, 2049, 4095, 4096, 20000}) {
    for (const K majority :
         {K{0}, static_cast<K>(~K{0}), static_cast<K>(K{1} << (sizeof(K) * 8 - 1)), static_cast<K>(this->random_())}) {
      for (const unsigned percent : {35U, 60U, 88U, 99U}) this->expect_sorted(this->make(num_keys, majority, percent));
      if (this->HasFatalFailure()) return;
    }
  }
}

TYPED_TEST(majority_key_test, DropsWhatItHasSeen) {
  using K = TypeParam;
  for (const std::uint64_t num_keys : {128, 500, 1001, 5000}) {
    const K majority = static_cast<K>(this->random_());
    std::vector<K> keys(num_keys);
    for (std::size_t i = 0; i < num_keys; ++i) keys[i] = i % 4 != 3 ? majority : static_cast<K>(this->random_());
    std::vector<K> rest = keys;
    K found = 0;
    const std::uint64_t num_others = drop_majority(rest.data(), num_keys, found);
    ASSERT_EQ(found, majority);
    std::vector<K> others;
    std::copy_if(keys.begin(), keys.end(), std::back_inserter(others), [&](K key) { return key != majority; });
    ASSERT_EQ(num_others, others.size());
    EXPECT_TRUE(std::equal(others.begin(), others.end(), rest.begin()));
  }
}

TYPED_TEST(majority_key_test, LeavesThreeValuesAndNoMajority) {
  using K = TypeParam;
  std::vector<K> keys(1000);
  K found = 0;
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = static_cast<K>(i % 10 == 0 ? 5 : 9);
  std::vector<K> before = keys;
  EXPECT_EQ(drop_majority(keys.data(), keys.size(), found), keys.size());
  EXPECT_EQ(keys, before);
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = static_cast<K>(i);
  before = keys;
  EXPECT_EQ(drop_majority(keys.data(), keys.size(), found), keys.size());
  EXPECT_EQ(keys, before);
}

/// The vectors that are looked at are of one value but for a key each, and no key elsewhere is: all is sorted, once.
TYPED_TEST(majority_key_test, DeceivedBySamples) {
  using K = TypeParam;
  constexpr std::size_t lanes = 64 / sizeof(K);
  for (const std::size_t num_keys : {200UL, 256UL, 512UL, 700UL, 1024UL, 3000UL, 9000UL}) {
    std::vector<K> keys(num_keys);
    for (K& key : keys) key = static_cast<K>(this->random_());
    const auto value = static_cast<K>(this->random_());
    for (const std::size_t begin : {std::size_t{0}, (num_keys - lanes) / 2, num_keys - lanes}) {
      for (std::size_t i = 0; i < lanes; ++i) {
        if (i != 2) keys[begin + i] = value;
      }
    }
    this->expect_sorted(keys);
  }
}

}  // namespace
}  // namespace spansort::device::host
