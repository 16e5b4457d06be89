// SPDX-License-Identifier: Apache-2.0
// Pairs that are mostly of some frequent keys, set apart piece by piece on one thread to three: what is left is a
// stable sort's result, whatever share the keys that are told hold, wherever they lie among the others, and whether or
// not there is room for the others beside them. Nothing is written beyond the arrays.
#include <gtest/gtest.h>
#include <oneapi/tbb/global_control.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "device/host/heavy_pieces.hpp"
#include "support/environment.hpp"

namespace spansort::device::host {
namespace {

constexpr std::uint64_t red_zone = 40;

template <class K, class V>
struct widths {
  using key = K;
  using value = V;
};
template <class W>
class heavy_pieces_test : public testing::Test {};
using all_widths = testing::Types<widths<std::uint32_t, value4>, widths<std::uint64_t, value8>>;
TYPED_TEST_SUITE(heavy_pieces_test, all_widths);

template <class K>
frequent_keys<K> say_frequent(const std::vector<K>& keys, unsigned percent) {
  frequent_keys<K> told;
  const unsigned share = frequent_keys<K>::num_samples / static_cast<unsigned>(keys.size());
  for (const K key : keys) told.add(key, percent == 100 ? share : share / 2);
  return told;
}

/// Records as a thread's arrays have them, with a red zone behind each.
template <class K, class V>
struct guarded_records {
  std::vector<K> keys;
  std::vector<V> values;

  explicit guarded_records(std::uint64_t num_keys)
      : keys(num_keys + red_zone, 77), values(num_keys + red_zone, V{77}) {}
  [[nodiscard]] split_records<K, V> records() { return {keys.data(), values.data()}; }
  [[nodiscard]] bool is_whole() const {
    const auto is_red = [](auto x) { return x == 77; };
    return std::all_of(keys.end() - red_zone, keys.end(), is_red) &&
           std::all_of(values.end() - red_zone, values.end(), [](V v) { return v.word == 77; });
  }
};

template <class K, class V, class Order>
void sort_stably(const Order& order, split_records<K, V> records, std::uint64_t num_keys) {
  std::vector<packed_record<K, V>> sorted;
  for (std::uint64_t i = 0; i < num_keys; ++i) sorted.push_back(records.get(i));
  std::stable_sort(sorted.begin(), sorted.end(), [&](const auto& left, const auto& right) {
    return order.encode(left.key) < order.encode(right.key);
  });
  for (std::uint64_t i = 0; i < num_keys; ++i) records.put(i, sorted[i]);
}

struct pieces_case {
  std::uint64_t num_keys = 0;
  unsigned percent = 0;
  unsigned told_percent = 0;  ///< what the sample says
  unsigned num_threads = 1;
  std::uint64_t most_front = 0;  ///< pieces that the first task takes from the begin
  bool stream = false;
  bool descending = false;
  bool misaligned = false;  ///< the values beside, as a caller's may be
};

template <class K, class V>
void expect_sorted(const pieces_case& c, const std::vector<K>& heavy, std::mt19937_64& random) {
  const key_type type = sizeof(K) == 4 ? key_type::u32 : key_type::u64;
  const auto codec = keys::key_codec{type, c.descending, keys::tie_rule::by_input_order}.of<K>();
  const bijective_order<K> order(codec);
  guarded_records<K, V> from(c.num_keys);
  guarded_records<K, V> beside(c.num_keys);
  for (std::uint64_t i = 0; i < c.num_keys; ++i) {
    from.keys[i] = random() % 100 < c.percent ? heavy[random() % heavy.size()] : static_cast<K>(random());
    from.values[i].word = static_cast<decltype(V::word)>(i);
  }
  std::vector<char> misaligned(c.num_keys * sizeof(V) + 1);
  split_records<K, V> other = beside.records();
  if (c.misaligned) other.values = reinterpret_cast<V*>(misaligned.data() + 1);
  guarded_records<K, V> expected = from;
  sort_stably(order, expected.records(), c.num_keys);
  workers team(c.num_threads, -1);
  team.prepare_scratch();
  sort_limits limits;
  limits.piece_keys = 2048;
  if (c.stream) limits.stream_copies_bytes = 1;
  heavy_pieces_sorter<K, V, bijective_order<K>> sorter(team, order, codec, limits);
  sorter.take(say_frequent(heavy, c.told_percent));
  const std::uint64_t num_light = sorter.set_apart(from.records(), other, c.num_keys, c.most_front);
  sort_stably(order, sorter.light(), num_light);
  // Who sorts the others may overwrite as many pairs.
  for (std::uint64_t i = 0; i < num_light; ++i) sorter.other().put(i, {K{99}, V{99}});
  sorter.write(other.values, from.records(), c.num_keys);
  ASSERT_EQ(from.keys, expected.keys);
  for (std::uint64_t i = 0; i < c.num_keys; ++i) ASSERT_EQ(from.values[i].word, expected.values[i].word) << i;
  ASSERT_TRUE(from.is_whole() && beside.is_whole());
}

TYPED_TEST(heavy_pieces_test, LeaveWhatAStableSortDoes) {
  using K = typename TypeParam::key;
  using V = typename TypeParam::value;
  const tbb::global_control more_than_processors(tbb::global_control::max_allowed_parallelism, 3);
  std::mt19937_64 random(test::base_seed());
  const K most = static_cast<K>(~K{0});
  const std::vector<std::vector<K>> heavy_keys = {{0},         {most}, {most, 0}, {5, most / 3}, {most / 2, 9, most},
                                                  {3, 0, 2, 1}};
  for (const std::vector<K>& heavy : heavy_keys) {
    for (const unsigned percent : {3U, 45U, 80U, 100U}) {
      for (const std::uint64_t num_keys : {100, 16'384, 70'001, 70'001}) {
        // 70,001 pairs are five pieces.
        pieces_case c{.num_keys = num_keys, .percent = percent, .most_front = random() % 6};
        c.told_percent = random() % 2 == 0 ? percent : 100;  // a sample may miss all others
        c.num_threads = 1 + static_cast<unsigned>(random() % 3);
        c.stream = random() % 2 == 0;
        c.descending = random() % 2 == 0;
        SCOPED_TRACE(std::to_string(heavy.size()) + " keys, " + std::to_string(percent) + " % of " +
                     std::to_string(num_keys) + ", " + std::to_string(c.num_threads) + " threads, " +
                     std::to_string(c.most_front) + " pieces at the begin");
        expect_sorted<K, V>(c, heavy, random);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

/// These are more pairs than are split without a look at whether to stop, and values that lie anywhere.
TEST(HeavyPieces, OfTwoKeysAreSortedWhereTheyAre) {
  std::mt19937_64 random(test::base_seed());
  for (const unsigned percent : {100U, 99U}) {
    pieces_case c{.num_keys = (std::uint64_t{1} << 20) + 70'001, .percent = percent, .told_percent = 100};
    expect_sorted<std::uint32_t, value4>(c, {5, 3'000'000'000}, random);
    c.num_keys = 20'000;
    c.misaligned = true;
    expect_sorted<std::uint64_t, value8>(c, {5, 3'000'000'000}, random);
    if (testing::Test::HasFatalFailure()) return;
  }
}

TYPED_TEST(heavy_pieces_test, AreChosenForAFewFrequentKeysAlone) {
  using K = typename TypeParam::key;
  using V = typename TypeParam::value;
  std::mt19937_64 random(test::base_seed());
  workers team(1, -1);
  const auto chooses = [&](key_type type, const std::vector<K>& keys) {
    const auto codec = keys::key_codec{type, false, keys::tie_rule::by_input_order}.of<K>();
    const folding_order<K> order(codec);
    return heavy_pieces_sorter<K, V, folding_order<K>>(team, order, codec, {}).choose(keys.data(), keys.size());
  };
  const auto draw = [&](std::uint64_t num_values, unsigned percent) {
    std::vector<K> keys(10'000);
    for (K& key : keys)
      key = random() % 100 < percent ? static_cast<K>(random() % num_values) : static_cast<K>(random());
    return keys;
  };
  const key_type plain = sizeof(K) == 4 ? key_type::u32 : key_type::u64;
  EXPECT_TRUE(chooses(plain, draw(1, 90)));
  EXPECT_TRUE(chooses(plain, draw(2, 100)));
  EXPECT_FALSE(chooses(plain, draw(1, 20)));
  EXPECT_FALSE(chooses(plain, draw(16, 100)));
  std::vector<K> sorted = draw(2, 100);
  std::sort(sorted.begin(), sorted.end());
  EXPECT_FALSE(chooses(plain, sorted));
  // A zero is set apart unless one of the other sign ties with it.
  const key_type number = sizeof(K) == 4 ? key_type::f32 : key_type::f64;
  std::vector<K> zeros = draw(1, 90);
  for (K& key : zeros) key = static_cast<K>(key >> 2);
  EXPECT_TRUE(chooses(number, zeros));
  zeros[zeros.size() / 3] = K{1} << (sizeof(K) * 8 - 1);
  EXPECT_FALSE(chooses(number, zeros));
}

}  // namespace
}  // namespace spansort::device::host
