// SPDX-License-Identifier: Apache-2.0
// The search of many keys in a tree of splitters against that of one key, for every depth of the tree: keys on both
// sides of splitters, splitters that repeat, and counts that leave part of a vector.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "device/host/level_digit.hpp"
#include "support/environment.hpp"

namespace spansort::device::host {
namespace {

template <class K>
void check_depth(unsigned bits, K mask, std::mt19937_64& random) {
  std::vector<K> sample(4096);
  for (K& key : sample) key = static_cast<K>(random()) & mask;
  std::sort(sample.begin(), sample.end());
  const std::vector<K> tree = make_splitter_tree(sample, bits);
  const splitter_digit<K> digit{0, bits, tree.data()};
  std::vector<K> keys{0, static_cast<K>(~K{0})};
  for (const K key : tree) keys.insert(keys.end(), {key, static_cast<K>(key - 1), static_cast<K>(key + 1)});
  for (unsigned i = 0; i < 1000; ++i) keys.push_back(static_cast<K>(random()) & mask);
  for (const std::size_t num_keys : {std::size_t{1}, std::size_t{7}, std::size_t{31}, keys.size()}) {
    std::vector<std::uint16_t> buckets(num_keys + 1, 0xBEEF);
    digit.find(keys.data(), num_keys, buckets.data());
    for (std::size_t i = 0; i < num_keys; ++i) ASSERT_EQ(buckets[i], digit.of(keys[i])) << "key " << i;
    ASSERT_EQ(buckets[num_keys], 0xBEEF) << "writes beyond the end";
  }
}

template <class K>
void check_all() {
  std::mt19937_64 random(test::base_seed());
  for (unsigned bits = 1; bits <= 11; ++bits) {
    SCOPED_TRACE("a tree of depth " + std::to_string(bits));
    check_depth(bits, static_cast<K>(~K{0}), random);
    check_depth(bits, K{0xff}, random);
    check_depth(bits, static_cast<K>(random() & random() & random()), random);
  }
}

TEST(SplitterBuckets, OfManyKeysAreThoseOfEach) {
  check_all<std::uint32_t>();
  check_all<std::uint64_t>();
}

}  // namespace
}  // namespace spansort::device::host
