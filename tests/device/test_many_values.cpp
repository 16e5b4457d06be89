// SPDX-License-Identifier: Apache-2.0
// Keys of many values, each met often, that are counted and written, against std::sort: values of 0 and 1, which mark
// empty cells, values that share a cell, values that a sample does not show, and more of them than the tables hold.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <vector>

#include "device/host/many_values.hpp"
#include "support/environment.hpp"

namespace spansort::device::host {
namespace {

template <class K>
class many_values_test : public testing::Test {
 protected:
  [[nodiscard]] std::vector<K> values(std::size_t count) {
    std::vector<K> found(count);
    for (K& value : found) value = static_cast<K>(random_());
    if (count > 2) std::copy_n(std::begin({K{0}, K{1}}), 2, found.begin());
    return found;
  }
  /// Returns values that share a cell of the first table by the first multiplier, as many as asked for.
  [[nodiscard]] std::vector<K> colliding(std::size_t count) {
    K inverse = 1;  // of an odd number: Newton's iteration doubles the bits that are right
    for (int i = 0; i < 7; ++i) inverse = static_cast<K>(inverse * (2 - hash_multipliers<K>[0] * inverse));
    std::vector<K> found(count);
    for (std::size_t i = 0; i < count; ++i) found[i] = static_cast<K>((i + 1) * inverse);
    return found;
  }
  [[nodiscard]] std::vector<K> keys_of(const std::vector<K>& values, std::uint64_t num_keys) {
    std::vector<K> keys(num_keys);
    for (K& key : keys) key = values[random_() % values.size()];
    return keys;
  }

  /// Counts on one table and half of the keys on another. Returns whether the values were few enough.
  bool count(const std::vector<K>& keys) {
    using counter = value_counts<K>;
    const auto rooms = std::make_unique<typename counter::memory[]>(2);
    counter all(rooms[0]);
    counter half(rooms[1]);
    if (!all.add(keys.data(), keys.size() / 2)) return false;
    if (!half.add(keys.data() + keys.size() / 2, keys.size() - keys.size() / 2) || !all.add(half)) return false;
    std::map<K, std::uint64_t> expected;
    for (const K key : keys) ++expected[key];
    std::sort(all.values().begin(), all.values().end());
    std::uint64_t end = 0;
    std::size_t v = 0;
    EXPECT_EQ(all.values().size(), expected.size());
    const auto ends = all.ends();
    for (const auto& [key, times] : expected) {
      end += times;
      EXPECT_EQ(all.values()[v], key);
      EXPECT_EQ(ends[v++], end);
    }
    return true;
  }

  /// Sorts a copy, whose scratch fits exactly. Returns whether it was counted; nothing may have been written otherwise.
  bool sort(const std::vector<K>& keys) {
    constexpr std::uint64_t line_keys = 64 / sizeof(K);
    const auto codec =
        keys::key_codec{sizeof(K) == 8 ? key_type::f64 : key_type::f32, random_() % 2 == 0}.template of<K>();
    std::vector<K> first(keys.size() + line_keys);
    std::vector<K> second(vector_sort_spread * keys.size() + line_keys);
    std::vector<std::uint32_t> cursors(keys.size() / 16 + 16);
    std::vector<K> sorted = keys;
    const bool is_done = sort_many_values<K>(codec, sorted.data(), sorted.size(),
                                             {.first = first.data(),
                                              .second = second.data(),
                                              .num_keys = keys.size(),
                                              .num_second_keys = vector_sort_spread * keys.size(),
                                              .cursors = cursors.data(),
                                              .num_cursors = cursors.size()});
    std::vector<K> expected = keys;
    if (is_done) {
      std::sort(expected.begin(), expected.end(), [&](K l, K r) { return codec.encode(l) < codec.encode(r); });
    }
    EXPECT_TRUE(sorted == expected) << keys.size() << " keys, counted: " << is_done << ", seed " << test::base_seed();
    return is_done;
  }

  std::mt19937_64 random_{test::base_seed()};
};
using key_words = testing::Types<std::uint32_t, std::uint64_t>;
TYPED_TEST_SUITE(many_values_test, key_words);

TYPED_TEST(many_values_test, TablesCount) {
  for (const std::size_t num_values : {1U, 2U, 3U, 100U, 1000U, 2040U}) {
    for (const std::uint64_t n : {1U, 15U, 257U, 5'000U, 40'000U}) {
      EXPECT_TRUE(this->count(this->keys_of(this->values(num_values), n))) << num_values << " values, " << n << " keys";
    }
  }
  EXPECT_FALSE(this->count(this->keys_of(this->values(6000), 100'000)));
}

TYPED_TEST(many_values_test, ValuesThatShareACell) {
  std::vector<TypeParam> some = this->values(300);
  const std::vector<TypeParam> shared = this->colliding(20);
  some.insert(some.end(), shared.begin(), shared.end());
  EXPECT_TRUE(this->count(this->keys_of(some, 40'000)));
  EXPECT_TRUE(this->count(this->keys_of(this->colliding(1000), 40'000))) << "another multiplier was to serve";
}

TYPED_TEST(many_values_test, CountsOrLeavesThem) {
  if (!has_vector_sort()) GTEST_SKIP() << "vectors of this machine are too narrow";
  EXPECT_FALSE(this->sort(this->keys_of(this->values(100), fewest_of_many_values - 1)));
  for (const std::uint64_t n : {fewest_of_many_values, fewest_of_many_values + 1, std::uint64_t{70'003}}) {
    for (const std::size_t num_values : {20U, 100U, 1000U, 1500U, 5000U}) {
      std::vector<TypeParam> keys = this->keys_of(this->values(num_values), n);
      const bool is_done = this->sort(keys);
      EXPECT_TRUE(is_done || num_values > 1000) << num_values << " values, " << n << " keys";
      EXPECT_FALSE(is_done && num_values == 5000) << n << " keys";
      for (unsigned i = 0; i < 5; ++i) keys[n - 1 - this->random_() % 64] = static_cast<TypeParam>(this->random_());
      this->sort(keys);
    }
    // A sample does not show that most keys differ at the end.
    std::vector<TypeParam> keys = this->keys_of(this->values(50), n);
    for (std::uint64_t i = n * 7 / 8; i < n; ++i) keys[i] = static_cast<TypeParam>(this->random_());
    this->sort(keys);
    EXPECT_FALSE(this->sort(this->values(n)));
  }
}

}  // namespace
}  // namespace spansort::device::host
