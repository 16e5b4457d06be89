// SPDX-License-Identifier: Apache-2.0
// Pairs that a few threads sort in parts of the sorted order: the kernel that takes a part out, against a plain loop
// and to the last place that it may write to, and sorts of all kinds of keys on one thread and more, among them keys of
// which the sample sees nothing, so that a part finds no room.
#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "device/host/heavy_pairs.hpp"
#include "device/host/parked_threads.hpp"
#include "device/host/select_pairs.hpp"
#include "device/host/selected_parts.hpp"
#include "device/host/shared_order.hpp"
#include "device/host/shared_pairs.hpp"
#include "device/host/workers.hpp"
#include "support/environment.hpp"

namespace spansort::device::host {
namespace {

template <class V>
std::uint64_t number_of(const V& value) {
  std::uint64_t number = 0;
  std::memcpy(&number, &value, sizeof value);
  return number;
}

template <class K, class V>
void expect_selected(const keys::key_codec& key_codec, std::uint64_t num_keys, bool are_positions,
                     std::mt19937_64& random) {
  const keys::codec_of<K> codec = key_codec.of<K>();
  constexpr std::uint64_t first = 1000;
  constexpr std::uint64_t untouched = 0x7777777777777777U;
  std::vector<K> keys(num_keys);
  std::vector<V> values(num_keys);
  for (std::uint64_t i = 0; i < num_keys; ++i) {
    keys[i] = random() % 4 == 0 ? static_cast<K>(random() % 3 << (sizeof(K) * 8 - 2)) : static_cast<K>(random());
    values[i].word = static_cast<decltype(V::word)>(3 * i);
  }
  const K bounds[] = {static_cast<K>(random()), static_cast<K>(random())};
  const key_interval<K> wanted{std::min(bounds[0], bounds[1]), std::max(bounds[0], bounds[1])};
  std::vector<std::uint64_t> expected;
  for (std::uint64_t i = 0; i < num_keys; ++i) {
    const K encoded = codec.encode(keys[i]);
    if (encoded >= wanted.least && encoded <= wanted.greatest) expected.push_back(i);
  }
  const V* const from_values = are_positions ? nullptr : values.data();
  for (const std::uint64_t room : {expected.size(), expected.size() / 2}) {
    constexpr std::uint64_t behind = 4;
    std::vector<K> to_keys(room + spare_selected_pairs + behind, static_cast<K>(untouched));
    std::vector<V> to_values(to_keys.size());
    std::memset(to_values.data(), 0x77, to_values.size() * sizeof(V));
    const std::uint64_t count = select_pairs<K, V>(codec, {keys.data(), const_cast<V*>(from_values)}, num_keys, first,
                                                   wanted, {to_keys.data(), to_values.data()}, room);
    for (std::uint64_t i = room + spare_selected_pairs; i < to_keys.size(); ++i) {
      ASSERT_EQ(to_keys[i], static_cast<K>(untouched));
      ASSERT_EQ(number_of(to_values[i]), untouched >> (64 - 8 * sizeof(V)));
    }
    if (room < expected.size()) {
      ASSERT_GT(count, room);
    } else {
      ASSERT_EQ(count, room);
    }
    for (std::uint64_t i = 0; i < room; ++i) {
      ASSERT_EQ(to_keys[i], keys[expected[i]]) << i;
      ASSERT_EQ(number_of(to_values[i]), are_positions ? first + expected[i] : number_of(values[expected[i]])) << i;
    }
  }
}

TEST(SelectPairs, TakesThePairsOfAnIntervalInInputOrder) {
  std::mt19937_64 random(test::base_seed());
  for (const bool descending : {false, true}) {
    for (const bool are_positions : {false, true}) {
      for (const std::uint64_t num_keys : {0, 1, 7, 8, 15, 16, 17, 100, 1000, 1001, 5003}) {
        for (const key_type type : {key_type::u32, key_type::i32, key_type::f32}) {
          const keys::key_codec codec{type, descending, keys::tie_rule::by_input_order};
          expect_selected<std::uint32_t, value4>(codec, num_keys, are_positions, random);
          expect_selected<std::uint32_t, value8>(codec, num_keys, are_positions, random);
        }
        for (const key_type type : {key_type::u64, key_type::i64, key_type::f64}) {
          const keys::key_codec codec{type, descending, keys::tie_rule::by_input_order};
          expect_selected<std::uint64_t, value4>(codec, num_keys, are_positions, random);
          expect_selected<std::uint64_t, value8>(codec, num_keys, are_positions, random);
        }
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

constexpr unsigned num_kinds = 9;

template <class K>
std::vector<K> make_keys(std::uint64_t num_keys, unsigned kind, std::mt19937_64& random) {
  constexpr unsigned width = sizeof(K) * 8;
  std::vector<K> keys(num_keys);
  for (std::uint64_t i = 0; i < num_keys; ++i) {
    K key = static_cast<K>(random());
    if (kind == 1) key &= static_cast<K>(random() & random() & random());
    if (kind == 2) key = static_cast<K>(key % 50 << (width - 6));
    if (kind == 3) key = static_cast<K>(i % (num_keys / 7) << (width - 16));        // sorted pieces
    if (kind == 4) key = static_cast<K>(i < num_keys / 2 ? key | 1U : key << 1);    // the median's copies lie apart
    if (kind == 5) key = key % 4 == 0 ? key : static_cast<K>(K{1} << (width - 1));  // a key that is most, or zeros
    if (kind == 6) key = static_cast<K>(~(key & 0xFFF));                            // many NaNs, and the highest keys
    if (kind == 7) key = static_cast<K>(key % 100);                                 // the lowest
    if (kind == 8) key = static_cast<K>(key | K{1} << (width - 2));
    keys[i] = key;
  }
  if (kind == 8) {  // all that the sample sees is lower, and of many values
    const std::uint64_t most_samples = std::min<std::uint64_t>(num_keys / 16, 4096);
    std::vector<std::uint64_t> counts{most_samples};
    for (std::uint64_t count = 512; count < most_samples; count += 256) counts.push_back(count);
    for (const std::uint64_t num_samples : counts) {
      const key_sampler<K> sampled(keys.data(), num_keys, num_samples);
      for (std::uint64_t i = 0; i < num_samples; ++i) keys[sampled.place_of(i)] = static_cast<K>(i * 7 % 1000);
    }
  }
  return keys;
}

template <class K, class V>
void expect_sorted(key_type type, std::uint64_t num_keys, unsigned num_threads, unsigned kind,
                   std::mt19937_64& random) {
  SCOPED_TRACE(std::to_string(num_keys) + " keys of type " + std::to_string(static_cast<int>(type)) + " and kind " +
               std::to_string(kind) + " with values of " + std::to_string(sizeof(V)) + " bytes on " +
               std::to_string(num_threads) + " threads");
  const keys::key_codec codec{type, kind % 2 == 1, keys::tie_rule::by_input_order};
  const auto of_width = codec.of<K>();
  const std::vector<K> given = make_keys<K>(num_keys, kind, random);
  std::vector<std::uint32_t> order(num_keys);
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t left, std::uint32_t right) {
    return of_width.encode(given[left]) < of_width.encode(given[right]);
  });
  std::vector<K> keys = given;
  std::vector<V> values(num_keys);
  for (std::uint64_t i = 0; i < num_keys; ++i) values[i].word = static_cast<decltype(V::word)>(i);
  ASSERT_TRUE(sort_shared_pairs(codec, keys.data(), values.data(), sizeof(V), num_keys, num_threads));
  std::vector<V> indices(num_keys);
  ASSERT_TRUE(argsort_shared(codec, given.data(), indices.data(), sizeof(V), num_keys, num_threads));
  for (std::uint64_t i = 0; i < num_keys; ++i) {
    ASSERT_EQ(keys[i], given[order[i]]) << "key " << i;
    ASSERT_EQ(number_of(values[i]), order[i]) << "value " << i;
    ASSERT_EQ(number_of(indices[i]), order[i]) << "index " << i;
  }
}

TEST(SelectedParts, HaveRoomHoweverManyTheyAre) {
  for (const unsigned num_threads : {1U, 2U, 3U, 4U, 7U, 8U, 16U, 100U}) {
    for (const bool are_positions : {false, true}) {
      for (std::uint64_t num_keys = most_pairs_alone(num_threads) + 1; num_keys < 1'700'000; num_keys += 97) {
        part_plan plan = plan_parts(8, 8, are_positions, num_keys, num_threads);
        const std::uint64_t num_spare = plan.num_spare();
        for (; plan.num_parts != 0 && plan.num_parts <= most_selected_parts; plan.num_parts += plan.num_threads) {
          ASSERT_EQ(plan.num_parts % plan.num_threads, 0U) << num_keys;
          ASSERT_LE(plan.num_threads, num_threads) << num_keys;
          ASSERT_LE(plan.num_parts * (plan.room() + spare_selected_pairs), num_spare) << num_keys;
          ASSERT_GE(plan.num_parts * (plan.room() + 1), num_keys + num_keys / 4) << num_keys;
        }
      }
    }
  }
}

TEST(SelectedParts, AreForAsManyAsPayAndNoOthers) {
  if (!has_vector_sort()) GTEST_SKIP() << "no vectors to sort parts with";
  const auto num_parts = [](std::uint64_t key_bytes, std::uint64_t value_bytes, bool are_positions,
                            std::uint64_t num_keys, unsigned num_threads) {
    return plan_parts(key_bytes, value_bytes, are_positions, num_keys, num_threads).num_parts;
  };
  constexpr std::uint64_t k = 1024;
  EXPECT_EQ(num_parts(4, 4, false, 64 * k, 1), 0U);
  EXPECT_EQ(num_parts(4, 4, false, 256 * k, 1), 3U);
  EXPECT_EQ(num_parts(4, 4, false, 1024 * k, 1), 10U);
  EXPECT_EQ(num_parts(8, 8, false, 1024 * k, 1), 10U);
  EXPECT_EQ(num_parts(8, 8, false, 1024 * k + 1, 1), 0U);
  EXPECT_EQ(num_parts(8, 4, true, 1300 * k, 2), 14U);
  EXPECT_EQ(num_parts(8, 8, false, 1024 * k, 3), 12U);
  EXPECT_EQ(num_parts(4, 4, false, 48 * k, 2), 0U);
  EXPECT_EQ(num_parts(4, 4, false, 64 * k, 2), 2U);
  EXPECT_EQ(num_parts(4, 4, false, 512 * k, 2), 6U);
  EXPECT_EQ(num_parts(8, 8, false, 512 * k, 3), 6U);
  EXPECT_EQ(num_parts(4, 4, false, 2048 * k, 2), 0U);
  EXPECT_EQ(num_parts(4, 4, false, 256 * k, 4), 4U);
  EXPECT_EQ(num_parts(8, 8, false, 256 * k, 4), 0U);
  EXPECT_EQ(num_parts(4, 4, false, 8 * k, 16), 0U);
  EXPECT_EQ(num_parts(4, 4, false, 16 * k, 16), 8U);
  EXPECT_EQ(num_parts(4, 4, false, 64 * k, 32), 16U);
  EXPECT_EQ(num_parts(4, 4, false, 128 * k, 16), 0U);
  EXPECT_EQ(num_parts(8, 8, true, 128 * k, 16), 16U);
  EXPECT_EQ(num_parts(2, 4, false, 64 * k, 2), 0U);
  EXPECT_EQ(num_parts(4, 16, false, 64 * k, 2), 0U);
}

/// Keys of which half repeat, so that there are more parts than planned and as many as there may be, the last of them
/// full to the last pair for which it has room: what a sort writes behind that is another's.
TEST(SelectedParts, OfTheLastRoomHarmNoOther) {
  if (!has_vector_sort()) GTEST_SKIP() << "no vectors to sort parts with";
  constexpr std::uint64_t num_keys = 800'000;
  constexpr unsigned num_threads = 2;
  const part_plan plan = plan_parts(8, 8, false, num_keys, num_threads);
  ASSERT_EQ(plan.num_parts, 8U);
  constexpr std::uint64_t num_samples = 4096;
  constexpr std::uint64_t first_of_last = num_samples / most_selected_parts * (most_selected_parts - 1);
  const std::uint64_t room = plan.room_of_all / most_selected_parts;
  std::mt19937_64 random(test::base_seed());
  for (const std::uint64_t of_last : {room - 20, room - 8, room - 1, room, room + 1, room + 9}) {
    std::vector<std::uint64_t> keys(num_keys, 0);
    const key_sampler<std::uint64_t> sampled(keys.data(), num_keys, num_samples);
    std::vector<bool> is_sampled(num_keys, false);
    std::uint64_t num_last = 0;
    for (std::uint64_t i = 0; i < num_samples; ++i) {
      const std::uint64_t rank = i * 379 % num_samples;
      const std::uint64_t key = 1 + (rank % 8 < 4 ? rank : rank - rank % 4);
      keys[sampled.place_of(i)] = key << 32;
      is_sampled[sampled.place_of(i)] = true;
      num_last += key > first_of_last ? 1 : 0;
    }
    for (std::uint64_t i = 0; i < num_keys; ++i) {
      if (is_sampled[i]) continue;
      const bool is_last = num_last < of_last;
      num_last += is_last ? 1 : 0;
      const std::uint64_t upper =
          is_last ? 1 + first_of_last + random() % (num_samples - first_of_last) : 1 + random() % (first_of_last - 1);
      keys[i] = upper << 32 | (1 + random() % 0x7FFFFFFF);
    }
    std::vector<std::uint64_t> sorted = keys;
    std::vector<value8> values(num_keys);
    for (std::uint64_t i = 0; i < num_keys; ++i) values[i].word = num_keys + i;
    ASSERT_TRUE(sort_shared_pairs({.type = key_type::u64}, sorted.data(), values.data(), sizeof(value8), num_keys,
                                  num_threads));
    ASSERT_TRUE(std::is_sorted(sorted.begin(), sorted.end()));
    for (std::uint64_t i = 0; i < num_keys; ++i) {
      const std::uint64_t value = number_of(values[i]);
      ASSERT_TRUE(value >= num_keys && value < 2 * num_keys) << of_last << ", pair " << i;
      ASSERT_EQ(keys[value - num_keys], sorted[i]) << of_last << ", pair " << i;
    }
  }
}

TEST(SelectedParts, AreSortedStably) {
  std::mt19937_64 random(test::base_seed());
  std::vector<std::uint64_t> sizes{fewest_shared_pairs + 1, 20'000, most_pairs_alone(2) + 1, 65'537, 100'003};
  if (!test::is_small_scale()) sizes.insert(sizes.end(), {104'857, 210'000, 262'144, 400'001, 1'000'003});
  constexpr unsigned counts_of_threads[] = {1, 2, 3, 4, 8, 16};
  unsigned turn = 0;
  for (const std::uint64_t num_keys : sizes) {
    for (unsigned kind = 0; kind < num_kinds; ++kind) {
      const unsigned num_threads = counts_of_threads[turn++ % std::size(counts_of_threads)];
      expect_sorted<std::uint32_t, value4>(key_type::u32, num_keys, num_threads, kind, random);
      expect_sorted<std::uint32_t, value8>(key_type::f32, num_keys, num_threads, kind, random);
      expect_sorted<std::uint64_t, value4>(key_type::i64, num_keys, num_threads, kind, random);
      expect_sorted<std::uint64_t, value8>(key_type::f64, num_keys, num_threads, kind, random);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

/// Sorts into a result apart by a plan that such few pairs would not have, or tells that it has not.
template <class K, class V>
bool sorts_by_plan(workers& team, key_type type, std::uint64_t num_keys, unsigned num_threads, unsigned num_parts,
                   bool are_positions, unsigned kind, std::mt19937_64& random) {
  const keys::key_codec codec{type, kind % 2 == 1, keys::tie_rule::by_input_order};
  const auto of_width = codec.of<K>();
  std::vector<K> keys = make_keys<K>(num_keys, kind, random);
  std::vector<V> values(num_keys);
  for (std::uint64_t i = 0; i < num_keys; ++i) values[i].word = static_cast<decltype(V::word)>(i);
  std::vector<std::uint32_t> order(num_keys);
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t left, std::uint32_t right) {
    return of_width.encode(keys[left]) < of_width.encode(keys[right]);
  });
  const part_plan plan{.num_parts = num_parts, .num_threads = num_threads, .room_of_all = 2 * num_keys};
  std::vector<K> spare_keys(plan.num_spare());
  std::vector<V> spare_values(plan.num_spare());
  std::vector<K> to_keys(num_keys);
  std::vector<V> to_values(num_keys);
  team.use_threads(num_threads);
  team.prepare_scratch();
  const bool is_sorted =
      part_sorter<K, V>(team, codec, plan)
          .sort({keys.data(), are_positions ? nullptr : values.data()}, {to_keys.data(), to_values.data()},
                {spare_keys.data(), spare_values.data()}, num_keys);
  for (std::uint64_t i = 0; is_sorted && i < num_keys; ++i) {
    EXPECT_EQ(to_keys[i], keys[order[i]]) << "key " << i;
    EXPECT_EQ(number_of(to_values[i]), order[i]) << "value " << i;
    if (testing::Test::HasFailure()) break;
  }
  return is_sorted;
}

/// A thread takes up to 16 parts out of a block, by groups of up to four, of pairs that a test has time for.
TEST(SelectedParts, OfAThreadMayBeMany) {
  if (!has_vector_sort()) GTEST_SKIP() << "no vectors to sort parts with";
  static auto* const helpers = new parked_threads;  // which stay until the process ends
  workers team(3, *helpers);
  std::mt19937_64 random(test::base_seed());
  unsigned num_sorted = 0;
  unsigned turn = 0;
  for (const unsigned num_parts : {1U, 4U, 5U, 8U, 9U, 13U, 15U, 16U}) {
    for (unsigned kind = 0; kind < num_kinds; ++kind, ++turn) {
      const unsigned num_threads = num_parts % 3 == 0 && turn % 2 == 0 ? 3 : 1;
      const bool are_positions = turn % 3 == 0;
      const auto sorts = [&]<class K, class V>(K, V, key_type type) {
        return sorts_by_plan<K, V>(team, type, 20'011, num_threads, num_parts, are_positions, kind, random) ? 1U : 0U;
      };
      num_sorted += sorts(std::uint32_t{}, value4{}, key_type::u32);
      num_sorted += sorts(std::uint32_t{}, value8{}, key_type::f32);
      num_sorted += sorts(std::uint64_t{}, value4{}, key_type::i64);
      num_sorted += sorts(std::uint64_t{}, value8{}, key_type::f64);
      ASSERT_FALSE(testing::Test::HasFailure())
          << num_parts << " parts, kind " << kind << ", seed " << test::base_seed();
    }
  }
  EXPECT_GT(num_sorted, turn) << "parts are left to others in most cases";
}

TEST(SelectedParts, AreSortedWhereTheCallerIsBoundToOneProcessor) {
  ::cpu_set_t before;
  if (::sched_getaffinity(0, sizeof before, &before) != 0) GTEST_SKIP() << "this system does not tell";
  ::cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(::sched_getcpu(), &one);
  ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
  std::mt19937_64 random(test::base_seed());
  for (unsigned round = 0; round < 3; ++round) {
    expect_sorted<std::uint32_t, value4>(key_type::u32, 100'000, 2, 0, random);
  }
  EXPECT_EQ(::sched_setaffinity(0, sizeof before, &before), 0);
  expect_sorted<std::uint32_t, value4>(key_type::u32, 100'000, 2, 0, random);
}

}  // namespace
}  // namespace spansort::device::host
