// SPDX-License-Identifier: Apache-2.0
// Records of a few dozen different keys against a stable sort: as many keys as the table holds and more, in place and
// elsewhere, values of every width; keys that tie but differ are left to other sorts.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

#include "device/host/class_table.hpp"
#include "support/environment.hpp"

namespace spansort::device::host {
namespace {

template <class K, class V, class Order>
bool sorts(const keys::codec_of<K>& codec, std::vector<K> keys, bool in_place) {
  const std::uint64_t n = keys.size();
  std::vector<V> values(n);
  for (std::uint64_t i = 0; i < n; ++i) std::memcpy(&values[i], &i, std::min(sizeof(V), sizeof i));
  const std::vector<K> input = keys;
  const std::vector<V> input_values = values;
  std::vector<std::uint64_t> order(n);
  std::iota(order.begin(), order.end(), std::uint64_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::uint64_t left, std::uint64_t right) {
    return codec.encode(input[left]) < codec.encode(input[right]);
  });
  std::vector<V> spare(n);
  std::vector<K> other_keys(n);
  std::vector<V> other_values(n);
  const split_records<K, V> from{keys.data(), values.data()};
  const split_records<K, V> to = in_place ? from : split_records<K, V>{other_keys.data(), other_values.data()};
  const bool done = class_table<K, V, Order>(Order(codec)).sort(from, to, n, spare.data());
  for (std::uint64_t i = 0; i < n; ++i) {
    const std::uint64_t at = done ? order[i] : i;
    if (!done && !in_place) break;
    EXPECT_EQ(to.keys[i], input[at]) << i;
    EXPECT_EQ(std::memcmp(&to.values[i], &input_values[at], sizeof(V)), 0) << i;
    if (testing::Test::HasFailure()) break;
  }
  return done;
}

template <class K, class V, class Order>
void check_counts(const std::vector<key_type>& types) {
  std::mt19937_64 random(test::base_seed());
  for (const key_type type : types) {
    for (const bool descending : {false, true}) {
      const auto codec = keys::key_codec{type, descending, keys::tie_rule::by_input_order}.template of<K>();
      for (const std::uint64_t num_values : {1, 2, 17, 40, 64, 65, 1000}) {
        unsigned times_done = 0;
        for (unsigned round = 0; round < 8; ++round) {
          std::vector<K> from(num_values);
          for (K& key : from) key = static_cast<K>(random());
          std::vector<K> keys(5003);
          for (K& key : keys) key = from[random() % num_values];
          times_done += sorts<K, V, Order>(codec, keys, round % 2 == 0) ? 1 : 0;
        }
        EXPECT_TRUE(times_done > 0 || num_values > 17) << num_values;
        EXPECT_TRUE(times_done == 0 || num_values <= 64) << num_values;
      }
    }
  }
}

TEST(ClassTable, AnyNumberOfValues) {
  check_counts<std::uint32_t, value4, bijective_order<std::uint32_t>>({key_type::u32, key_type::i32});
  check_counts<std::uint64_t, value16, bijective_order<std::uint64_t>>({key_type::u64, key_type::i64});
  check_counts<std::uint32_t, value8, folding_order<std::uint32_t>>({key_type::f32});
}

TEST(ClassTable, KeysThatTieAndDifferAreLeftToOthers) {
  const auto codec = keys::key_codec{key_type::f32, false, keys::tie_rule::by_input_order}.of<std::uint32_t>();
  std::vector<std::uint32_t> keys(4000);
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = i % 3 == 0 ? 0x80000000U : 0;  // zeros of both signs
  EXPECT_FALSE((sorts<std::uint32_t, value4, folding_order<std::uint32_t>>(codec, keys, true)));
}

}  // namespace
}  // namespace spansort::device::host
