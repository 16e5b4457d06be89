// SPDX-License-Identifier: Apache-2.0
// Frequent keys of pairs: a sample finds those that there are, and a split around any keys that it is told of leaves
// what a stable sort does. The keys are the least, the greatest or between the others; they hold all of the input, much
// of it, or less than the sample said. Nothing is written beyond the result and the spare values.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "device/host/heavy_split.hpp"
#include "support/environment.hpp"

namespace spansort::device::host {
namespace {

template <class K>
keys::codec_of<K> codec_of_width(bool descending) {
  const key_type type = sizeof(K) == 4 ? key_type::u32 : key_type::u64;
  return keys::key_codec{type, descending, keys::tie_rule::by_input_order}.of<K>();
}

/// Keys of which `percent` in a hundred are one of `heavy`.
template <class K>
std::vector<K> make_keys(std::uint64_t num_keys, const std::vector<K>& heavy, unsigned percent,
                         std::mt19937_64& random) {
  std::vector<K> keys(num_keys);
  for (K& key : keys) key = random() % 100 < percent ? heavy[random() % heavy.size()] : static_cast<K>(random());
  return keys;
}

template <class K>
frequent_keys<K> say_frequent(const std::vector<K>& keys) {
  frequent_keys<K> told;
  for (const K key : keys) told.add(key, static_cast<unsigned>(frequent_keys<K>::num_samples / keys.size()));
  return told;
}

template <class K, class V>
struct split_case {
  std::vector<K> heavy;
  unsigned percent = 0;
  std::uint64_t num_keys = 0;
  std::uint64_t num_spare = 0;  ///< arrays of as many values
  bool in_place = false;
  bool descending = false;
};

template <class K, class V>
void expect_split(const split_case<K, V>& c, std::mt19937_64& random) {
  using order_type = bijective_order<K>;
  constexpr std::uint64_t red_zone = 40;
  const auto codec = codec_of_width<K>(c.descending);
  const order_type order(codec);
  std::vector<K> keys = make_keys(c.num_keys, c.heavy, c.percent, random);
  std::vector<V> values(c.num_keys);
  for (std::uint64_t i = 0; i < c.num_keys; ++i) std::memcpy(&values[i], &i, std::min(sizeof(V), sizeof i));
  std::vector<std::uint64_t> expected(c.num_keys);
  std::iota(expected.begin(), expected.end(), std::uint64_t{0});
  std::stable_sort(expected.begin(), expected.end(), [&](std::uint64_t left, std::uint64_t right) {
    return codec.encode(keys[left]) < codec.encode(keys[right]);
  });
  std::vector<K> result_keys = keys;
  std::vector<V> result_values = values;
  result_keys.resize(c.num_keys + red_zone, K{77});
  result_values.resize(c.num_keys + red_zone, V{77});
  std::vector<V> spare(c.num_spare * c.num_keys + red_zone, V{77});
  const split_records<K, V> result{result_keys.data(), result_values.data()};
  const split_records<K, V> from = c.in_place ? result : split_records<K, V>{keys.data(), values.data()};
  bool used_what_was_kept = false;
  const auto sort_light = [&](split_records<K, V> light, split_records<K, V> to, std::uint64_t n, std::uint64_t used) {
    used_what_was_kept = used > c.num_spare * c.num_keys;
    std::vector<std::uint64_t> places(n);
    std::iota(places.begin(), places.end(), std::uint64_t{0});
    std::stable_sort(places.begin(), places.end(), [&](std::uint64_t left, std::uint64_t right) {
      return codec.encode(light.keys[left]) < codec.encode(light.keys[right]);
    });
    std::vector<packed_record<K, V>> sorted;
    for (const std::uint64_t place : places) sorted.push_back(light.get(place));
    for (std::uint64_t i = 0; i < n; ++i) to.put(i, sorted[i]);
    std::fill(spare.begin() + static_cast<std::ptrdiff_t>(used), spare.end() - red_zone, V{99});
  };
  heavy_splitter<K, V, order_type> splitter(order, codec, spare.data(), c.num_spare * c.num_keys);
  ASSERT_TRUE(splitter.sort(from, result, c.num_keys, say_frequent(c.heavy), sort_light));
  ASSERT_FALSE(used_what_was_kept);
  for (std::uint64_t i = 0; i < c.num_keys; ++i) {
    ASSERT_EQ(result_keys[i], keys[expected[i]]) << "key " << i;
    ASSERT_EQ(std::memcmp(&result_values[i], &values[expected[i]], sizeof(V)), 0) << "value " << i;
  }
  for (std::uint64_t i = 0; i < red_zone; ++i) {
    ASSERT_EQ(result_keys[c.num_keys + i], K{77});
    const V untouched{77};
    ASSERT_EQ(std::memcmp(&result_values[c.num_keys + i], &untouched, sizeof(V)), 0);
    ASSERT_EQ(std::memcmp(&spare[c.num_spare * c.num_keys + i], &untouched, sizeof(V)), 0);
  }
}

template <class K, class V>
void expect_all_splits() {
  std::mt19937_64 random(test::base_seed());
  const K most = static_cast<K>(~K{0});
  const std::vector<std::vector<K>> heavy_keys = {
      {0}, {most}, {K{1} << (sizeof(K) * 8 - 1)}, {most, 0}, {5, most / 3}, {most / 2, 9, most}, {3, 0, 2, 1}};
  for (const std::vector<K>& heavy : heavy_keys) {
    for (const unsigned percent : {3U, 45U, 80U, 100U}) {
      for (const std::uint64_t num_keys : {64, 71, 300, 2000}) {
        for (const bool in_place : {false, true}) {
          const bool descending = random() % 2 == 0;
          // The spare values are as many arrays as there are keys, or two more.
          const std::uint64_t num_spare = heavy.size() + (random() % 2 == 0 ? 0 : 2);
          SCOPED_TRACE(std::to_string(heavy.size()) + " heavy keys, " + std::to_string(percent) + " % of " +
                       std::to_string(num_keys) + (in_place ? ", in place" : ""));
          expect_split<K, V>({heavy, percent, num_keys, num_spare, in_place, descending}, random);
          if (testing::Test::HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST(HeavySplit, LeavesWhatAStableSortDoes) {
  expect_all_splits<std::uint32_t, value4>();
  expect_all_splits<std::uint32_t, value8>();
  expect_all_splits<std::uint64_t, value8>();
  expect_all_splits<std::uint64_t, value4>();
  expect_all_splits<std::uint64_t, value16>();
}

TEST(HeavySplit, LeavesAllAsItIsWithoutRoomOrWhereKeysTie) {
  using order_type = folding_order<std::uint32_t>;
  const auto codec = keys::key_codec{key_type::f32, false, keys::tie_rule::by_input_order}.of<std::uint32_t>();
  constexpr std::uint32_t other_zero = 0x80000000U;
  std::vector<std::uint32_t> keys(100, 0);
  keys[70] = other_zero;
  std::vector<value4> values(100, value4{1});
  const std::vector<std::uint32_t> given = keys;
  std::vector<value4> spare(100);
  const split_records<std::uint32_t, value4> records{keys.data(), values.data()};
  const auto sort_light = [](auto, auto, std::uint64_t, std::uint64_t) { FAIL(); };
  const auto sorts = [&](std::uint32_t key, std::uint64_t num_spare) {
    return heavy_splitter<std::uint32_t, value4, order_type>(order_type(codec), codec, spare.data(), num_spare)
        .sort(records, records, 100, say_frequent<std::uint32_t>({key}), sort_light);
  };
  EXPECT_FALSE(sorts(0, 100)) << "another zero ties with it";
  EXPECT_FALSE(sorts(0x7FC00000U, 100)) << "NaNs of other bits may tie with it";
  keys[70] = 0;
  EXPECT_FALSE(sorts(0, 99));
  EXPECT_TRUE(sorts(0, 100));
  keys[70] = other_zero;
  EXPECT_EQ(keys, given);
}

template <class K>
void expect_samples() {
  std::mt19937_64 random(test::base_seed());
  const std::vector<K> heavy = {static_cast<K>(~K{0}), 4};
  for (const std::uint64_t num_keys : {64, 100, 4096, 100'000}) {
    SCOPED_TRACE(num_keys);
    const frequent_keys<K> all = sample_frequent(std::vector<K>(num_keys, K{9}).data(), num_keys);
    ASSERT_EQ(all.count, 1U);
    EXPECT_EQ(all.keys[0], K{9});
    EXPECT_TRUE(all.are_all() && all.are_heavy() && all.are_most());

    std::vector<K> keys = make_keys(num_keys, heavy, 90, random);
    const frequent_keys<K> two = sample_frequent(keys.data(), num_keys);
    ASSERT_EQ(two.count, 2U);
    EXPECT_EQ(std::min(two.keys[0], two.keys[1]), K{4});
    EXPECT_EQ(std::max(two.keys[0], two.keys[1]), static_cast<K>(~K{0}));
    EXPECT_GE(two.counts[0], two.counts[1]);
    EXPECT_TRUE(two.are_most());

    std::iota(keys.begin(), keys.end(), K{0});
    const frequent_keys<K> none = sample_frequent(keys.data(), num_keys);
    EXPECT_EQ(none.count, 0U);
    EXPECT_FALSE(none.are_heavy() || none.may_be_few());
  }
}

TEST(HeavySplit, SamplesFindWhatIsFrequent) {
  expect_samples<std::uint32_t>();
  expect_samples<std::uint64_t>();
}

}  // namespace
}  // namespace spansort::device::host
