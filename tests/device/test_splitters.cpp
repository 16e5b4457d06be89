// SPDX-License-Identifier: Apache-2.0
// Classes between splitters: in key order, found the same one by one and eight at a time, and of one value where a
// value fills the sample.
#include <gtest/gtest.h>

#include <algorithm>
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
  for (const std::size_t num_keys : {std::size_t{1}, std::min<std::size_t>(31, keys.size()), keys.size()}) {
    std::vector<std::uint16_t> buckets(num_keys + 1, 0xBEEF);
    digit.find(keys.data(), num_keys, buckets.data());
    for (std::size_t i = 0; i < num_keys; ++i) ASSERT_EQ(buckets[i], digit.of(keys[i])) << "key " << i;
    ASSERT_EQ(buckets[num_keys], 0xBEEF) << "writes beyond the end";
  }
}

template <class K>
void check_all() {
  std::mt19937_64 random(test::base_seed());
  for (const unsigned bits : {1U, 2U, 3U, 4U, 5U, 6U, 7U, 8U, 9U, 10U, 11U}) {
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
