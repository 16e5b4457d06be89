// SPDX-License-Identifier: Apache-2.0
// Pairs whose keys a dictionary holds, all or most of them, against a stable sort: on one thread, in place and
// elsewhere, and on the threads of a team; keys that tie but differ, keys whose sample deceives, and keys that are too
// many, which are left as they are.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "device/host/dictionary_pairs.hpp"
#include "device/host/dictionary_sort.hpp"
#include "device/host/splitter_pairs.hpp"
#include "support/environment.hpp"

namespace spansort::device::host {
namespace {

template <class K, class V>
struct pairs {
  std::vector<K> keys;
  std::vector<V> values;

  [[nodiscard]] split_records<K, V> records() { return {keys.data(), values.data()}; }
};

template <class K, class V>
pairs<K, V> number(std::vector<K> keys) {
  pairs<K, V> all{std::move(keys), {}};
  all.values.resize(all.keys.size());
  for (std::uint64_t i = 0; i < all.keys.size(); ++i) {
    std::memset(&all.values[i], 0, sizeof(V));
    std::memcpy(&all.values[i], &i, std::min(sizeof(V), sizeof i));
  }
  return all;
}

/// `num_values` keys, and other ones in `percent` of a hundred places.
template <class K>
std::vector<K> make_keys(std::uint64_t num_keys, std::uint64_t num_values, unsigned percent, std::mt19937_64& random) {
  std::vector<K> values(num_values);
  for (K& value : values) value = static_cast<K>(random());
  std::vector<K> keys(num_keys);
  for (K& key : keys) key = random() % 100 < percent ? static_cast<K>(random()) : values[random() % num_values];
  return keys;
}

template <class K, class V>
void sort_stably(const keys::codec_of<K>& codec, split_records<K, V> from, split_records<K, V> to, std::uint64_t n) {
  std::vector<std::uint64_t> order(n);
  std::iota(order.begin(), order.end(), std::uint64_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::uint64_t left, std::uint64_t right) {
    return codec.encode(from.keys[left]) < codec.encode(from.keys[right]);
  });
  pairs<K, V> sorted;
  for (const std::uint64_t i : order) {
    sorted.keys.push_back(from.keys[i]);
    sorted.values.push_back(from.values[i]);
  }
  std::copy_n(sorted.keys.data(), n, to.keys);
  std::copy_n(sorted.values.data(), n, to.values);
}

template <class K, class V>
void expect_same(const pairs<K, V>& expected, const pairs<K, V>& got) {
  EXPECT_TRUE(expected.keys == got.keys);
  EXPECT_EQ(std::memcmp(expected.values.data(), got.values.data(), expected.values.size() * sizeof(V)), 0);
}

template <class K, class V, class Order>
bool sorts_alone(const keys::codec_of<K>& codec, const std::vector<K>& keys, bool in_place) {
  const std::uint64_t n = keys.size();
  pairs<K, V> from = number<K, V>(keys);
  pairs<K, V> expected = from;
  pairs<K, V> elsewhere = number<K, V>(std::vector<K>(n));
  worker_scratch scratch;
  std::vector<V> spare(n);
  pairs<K, V>& to = in_place ? from : elsewhere;
  const bool done = dictionary_sorter<K, V, Order>(Order(codec), codec, scratch, spare.data(), n)
                        .sort(from.records(), to.records(), n,
                              [&](split_records<K, V> light, split_records<K, V> end, std::uint64_t num_light) {
                                sort_stably(codec, light, end, num_light);
                              });
  if (done) sort_stably(codec, expected.records(), expected.records(), n);
  if (done || in_place) expect_same(expected, to);
  return done;
}

template <class K, class V, class Order>
bool sorts_on_threads(const keys::codec_of<K>& codec, const std::vector<K>& keys, unsigned num_threads,
                      bool stages = false) {
  const sort_limits limits{.piece_keys = 2048, .stream_pairs_bytes = stages ? 1 : sort_limits{}.stream_pairs_bytes};
  const std::uint64_t n = keys.size();
  pairs<K, V> from = number<K, V>(keys);
  pairs<K, V> expected = from;
  pairs<K, V> beside = number<K, V>(std::vector<K>(n));
  static auto* const kept = new parked_threads;  // helpers are never joined
  workers team(num_threads, *kept);
  team.prepare_scratch();
  dictionary_pairs_sorter<K, V, Order> sorter(team, Order(codec), codec, limits);
  const bool done = sorter.count(from.keys.data(), n, beside.keys.data());
  if (done) {
    const std::uint64_t num_light = sorter.move(from.records(), beside.records());
    const auto light = beside.records() + (n - num_light);
    sort_stably(codec, light, light, num_light);
    sorter.write(beside.records(), from.records(), n);
    sort_stably(codec, expected.records(), expected.records(), n);
  }
  expect_same(expected, from);
  return done;
}

template <class K, class V, class Order>
void check(const std::vector<key_type>& types) {
  if (!has_vector_sort()) GTEST_SKIP() << "no vectors to sort a sample with";
  std::mt19937_64 random(test::base_seed());
  for (const key_type type : types) {
    for (const bool descending : {false, true}) {
      const auto codec = keys::key_codec{type, descending, keys::tie_rule::by_input_order}.template of<K>();
      for (const std::uint64_t num_values : {2, 100, 1000, 1900}) {
        for (const unsigned percent : {0U, 10U, 35U}) {
          SCOPED_TRACE(std::to_string(num_values) + " values, others in a hundred: " + std::to_string(percent));
          const bool is_expected = percent == 0 || num_values <= 100;  // a sample may well say that others are too many
          const auto keys = make_keys<K>(70'001, num_values, percent, random);
          // Splitters take pairs of which a dictionary would leave more than a tenth.
          const bool has_splitters = splitter_sorter::has_widths<K, V> && splitter_sorter::takes(keys.size());
          const bool is_expected_alone = has_splitters ? percent == 0 && num_values <= 100 : is_expected;
          EXPECT_TRUE((sorts_alone<K, V, Order>(codec, keys, true)) || !is_expected_alone);
          EXPECT_TRUE((sorts_alone<K, V, Order>(codec, keys, false)) || !is_expected_alone);
          EXPECT_FALSE(has_splitters && percent == 35 && (sorts_alone<K, V, Order>(codec, keys, true)));
          EXPECT_TRUE((sorts_on_threads<K, V, Order>(codec, keys, 1)) || !is_expected);
          EXPECT_TRUE((sorts_on_threads<K, V, Order>(codec, keys, 3)) || !is_expected);
          EXPECT_TRUE((sorts_on_threads<K, V, Order>(codec, keys, 2, true)) || !is_expected);
          if (testing::Test::HasFailure()) return;
        }
        // Few pairs have to repeat often.
        std::mt19937_64 others(test::base_seed() + num_values);
        const auto few = make_keys<K>(9'000, num_values, 0, others);
        EXPECT_EQ((sorts_alone<K, V, Order>(codec, few, true)), num_values <= 100) << num_values << " values";
      }
    }
  }
}

TEST(Dictionary, AllKeysOrMost) {
  check<std::uint32_t, value4, bijective_order<std::uint32_t>>({key_type::u32, key_type::i32});
  check<std::uint64_t, value16, bijective_order<std::uint64_t>>({key_type::u64});
  check<std::uint32_t, value8, folding_order<std::uint32_t>>({key_type::f32});
  check<std::uint64_t, value8, folding_order<std::uint64_t>>({key_type::f64});
}

TEST(Dictionary, KeysThatTieAndDifferAreNotTaken) {
  if (!has_vector_sort()) GTEST_SKIP() << "no vectors to sort a sample with";
  using order = folding_order<std::uint32_t>;
  std::mt19937_64 random(test::base_seed());
  const auto codec = keys::key_codec{key_type::f32, false, keys::tie_rule::by_input_order}.of<std::uint32_t>();
  std::vector<std::uint32_t> keys = make_keys<std::uint32_t>(65'536, 300, 0, random);
  for (std::uint32_t& key : keys) {
    constexpr std::uint32_t tying[] = {0, 0x80000000U, 0x7FC00000U, 0xFFC00001U};
    if (random() % 4 == 0) key = tying[random() % 4];
  }
  EXPECT_TRUE((sorts_alone<std::uint32_t, value4, order>(codec, keys, true)));
  EXPECT_TRUE((sorts_on_threads<std::uint32_t, value4, order>(codec, keys, 2)));
}

TEST(Dictionary, DifferentKeysAreLeftToOthers) {
  using order = bijective_order<std::uint32_t>;
  std::mt19937_64 random(test::base_seed());
  const auto codec = keys::key_codec{key_type::u32, false, keys::tie_rule::by_input_order}.of<std::uint32_t>();
  for (const unsigned percent : {75U, 100U}) {
    const auto keys = make_keys<std::uint32_t>(65'536, 100, percent, random);
    EXPECT_FALSE((sorts_alone<std::uint32_t, value4, order>(codec, keys, true)));
    EXPECT_FALSE((sorts_on_threads<std::uint32_t, value4, order>(codec, keys, 2)));
  }
}

/// All sampled places hold few keys, and the others different ones: one thread sorts what is left all the same, and a
/// team, which has counted before it moves anything, leaves the pairs.
TEST(Dictionary, ASampleThatDeceives) {
  if (!has_vector_sort()) GTEST_SKIP() << "no vectors to sort a sample with";
  using order = bijective_order<std::uint32_t>;
  constexpr std::uint64_t n = std::uint64_t{1} << 17;
  std::mt19937_64 random(test::base_seed());
  const auto codec = keys::key_codec{key_type::u32, false, keys::tie_rule::by_input_order}.of<std::uint32_t>();
  std::vector<std::uint32_t> keys = make_keys<std::uint32_t>(n, 100, 100, random);
  const std::vector<std::uint32_t> values = make_keys<std::uint32_t>(100, 100, 100, random);
  std::vector<std::uint32_t> places(n);
  std::iota(places.begin(), places.end(), 0U);
  for (const std::uint64_t num_sampled : {128, 512, 4096}) {
    const key_sampler<std::uint32_t> sampled(places.data(), n, num_sampled);
    for (std::uint64_t i = 0; i < num_sampled; ++i) keys[sampled(i)] = values[random() % values.size()];
  }
  EXPECT_TRUE((sorts_alone<std::uint32_t, value4, order>(codec, keys, true)));
  EXPECT_TRUE((sorts_alone<std::uint32_t, value4, order>(codec, keys, false)));
  EXPECT_FALSE((sorts_on_threads<std::uint32_t, value4, order>(codec, keys, 2)));
}

TEST(Dictionary, FewerKeysThanSteps) {
  for (const std::uint64_t n : {0, 1, 7, 8, 9, 15, 16, 17, 63}) {
    std::vector<std::uint16_t> classes(n);
    std::vector<std::uint32_t> keys(n);
    std::vector<value4> values(n);
    std::vector<value4> moved(n);
    std::uint64_t num_unclassified = 0;
    for (std::uint64_t i = 0; i < n; ++i) {
      classes[i] = static_cast<std::uint16_t>(i * 7 % 5);
      num_unclassified += classes[i] == 0 ? 1 : 0;
      keys[i] = values[i].word = static_cast<std::uint32_t>(i);
    }
    class_halves places;
    EXPECT_EQ(places.count(classes.data(), n, 5), num_unclassified);
    places.add_to(0, static_cast<std::uint32_t>(n - num_unclassified));
    place_classified(classes.data(), values.data(), n, places, moved.data());
    for (std::uint64_t i = 1; i < n; ++i) {
      const auto rank = [&](std::uint64_t at) { return (classes[moved[at].word] + 4U) % 5 * 100 + moved[at].word; };
      EXPECT_LT(rank(i - 1), rank(i)) << n;
    }
    EXPECT_EQ(gather_unclassified(classes.data(), keys.data(), n, keys.data()), num_unclassified);
    for (std::uint64_t i = 0; i < num_unclassified; ++i) EXPECT_EQ(classes[keys[i]], 0) << n;
  }
}

}  // namespace
}  // namespace spansort::device::host
