// SPDX-License-Identifier: Apache-2.0
// Classes between splitters: in key order, found the same one by one and eight at a time, and of one value where a
// value fills the sample.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <vector>

#include "device/host/level_digit.hpp"
#include "support/environment.hpp"

namespace spansort::device::host {
namespace {

template <class K>
void check(std::vector<K> sample, unsigned bits) {
  std::sort(sample.begin(), sample.end());
  const std::vector<K> tree = make_splitter_tree(sample, bits);
  const splitter_digit<K> digit{0, bits, tree.data()};
  std::vector<K> keys = sample;
  for (const K key : sample) {
    keys.push_back(static_cast<K>(key + 1));
    keys.push_back(static_cast<K>(key - 1));
  }
  keys.insert(keys.end(), {K{0}, static_cast<K>(~K{0})});
  std::sort(keys.begin(), keys.end());
  std::size_t last = 0;
  for (const K key : keys) {
    const std::size_t bucket = digit.of(key);
    ASSERT_LT(bucket, digit.num_buckets());
    ASSERT_GE(bucket, last);
    last = bucket;
  }
  for (std::size_t i = 0; i + 8 <= keys.size(); i += 5) {
    std::array<std::size_t, 8> buckets = {};
    find_buckets(digit, keys.data() + i, 8, buckets.data());
    for (unsigned j = 0; j < 8; ++j) ASSERT_EQ(buckets[j], digit.of(keys[i + j]));
  }
}

template <class K>
void check_all() {
  std::mt19937_64 random(test::base_seed());
  for (const unsigned bits : {1U, 2U, 5U, 8U, 10U}) {
    for (const std::size_t num_keys : {1, 7, 100, 4096}) {
      std::vector<K> sample(num_keys);
      for (K& key : sample) key = static_cast<K>(random());
      check(sample, bits);
      for (K& key : sample) key &= static_cast<K>(random() & random() & random());
      check(sample, bits);
      for (K& key : sample) key = static_cast<K>(random() % 3 == 0 ? ~K{0} : K{7});
      check(sample, bits);
      std::fill(sample.begin(), sample.end(), static_cast<K>(~K{0}));
      check(sample, bits);
    }
  }
}

TEST(Splitters, ClassesAreInKeyOrder) {
  check_all<std::uint32_t>();
  check_all<std::uint64_t>();
}

TEST(Splitters, AFrequentValueHasAClassOfItsOwn) {
  std::vector<std::uint32_t> sample(1000);
  for (std::uint32_t i = 0; i < 1000; ++i) sample[i] = i < 300 ? i : i < 700 ? 500 : i;
  const std::vector<std::uint32_t> tree = make_splitter_tree(sample, 4);
  const splitter_digit<std::uint32_t> digit{0, 4, tree.data()};
  EXPECT_NE(digit.of(499), digit.of(500));
  EXPECT_NE(digit.of(500), digit.of(501));
}

}  // namespace
}  // namespace spansort::device::host
