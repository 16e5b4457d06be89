// SPDX-License-Identifier: Apache-2.0
// Hash tables of keys a step apart: for each multiplier there is a step by which all keys fall into one cell, and
// another multiplier is to serve.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "device/host/hash_multipliers.hpp"
#include "device/host/heavy_values.hpp"
#include "device/host/key_dictionary.hpp"
#include "device/host/value_counts.hpp"
#include "support/environment.hpp"

namespace spansort::device::host {
namespace {

template <class K>
class HashMultipliers : public testing::Test {
 protected:
  static constexpr std::uint64_t num_values = 1000;
  static constexpr std::uint64_t num_keys = std::uint64_t{1} << 15;

  /// Everyday steps, and the inverses of multipliers, which make the products of keys their ranks.
  static std::vector<K> steps() {
    std::vector<K> all = {1, 2, 1000, 65536, 86400, 1000003, 0x7F4A7C15, 0x9E3779B1};
    for (const K multiplier : hash_multipliers<K>) {
      K inverse = multiplier;
      for (unsigned i = 0; i < 6; ++i) inverse = static_cast<K>(inverse * (2 - multiplier * inverse));
      EXPECT_EQ(static_cast<K>(inverse * multiplier), 1U);
      all.push_back(inverse);
    }
    return all;
  }
  std::vector<K> keys_of(K step, std::uint64_t num_steps = num_values) {
    std::vector<K> keys(num_keys);
    for (K& key : keys) key = static_cast<K>(random_() % num_steps * step);
    return keys;
  }
  /// Returns whether tables hold all values, and expects that they have counted them rightly.
  static bool are_counted(const std::vector<K>& keys) {
    const auto room = std::make_unique<typename value_counts<K>::memory>();
    value_counts<K> counts(*room);
    if (!counts.add(keys.data(), keys.size())) return false;
    expect_counts(counts, keys);
    return true;
  }
  static void expect_counts(value_counts<K>& counts, std::vector<K> keys) {
    std::ranges::sort(keys);
    std::ranges::sort(counts.values());
    const std::span<const K> values = counts.values();
    const std::span<const std::uint64_t> ends = counts.ends();
    ASSERT_EQ(ends.back(), keys.size());
    std::uint64_t begin = 0;
    for (std::size_t v = 0; v < values.size(); begin = ends[v++]) {
      ASSERT_LT(begin, ends[v]);
      ASSERT_EQ(keys[begin], values[v]);
      ASSERT_EQ(keys[ends[v] - 1], values[v]);
    }
  }
  static std::vector<K> sorted_sample(const std::vector<K>& keys) {
    std::vector<K> sample(keys.begin(), keys.begin() + num_keys / 8);
    std::ranges::sort(sample);
    return sample;
  }

 private:
  std::mt19937_64 random_{test::base_seed()};
};
using key_types = testing::Types<std::uint32_t, std::uint64_t>;
TYPED_TEST_SUITE(HashMultipliers, key_types);

TYPED_TEST(HashMultipliers, ADictionaryFindsKeysAStepApart) {
  using K = TypeParam;
  const auto codec = keys::key_codec{.type = sizeof(K) == 4 ? key_type::u32 : key_type::u64}.of<K>();
  for (const K step : this->steps()) {
    const std::vector<K> keys = this->keys_of(step);
    const std::vector<K> sample = this->sorted_sample(keys);
    key_dictionary<K> dictionary;
    ASSERT_TRUE(dictionary.take(codec, sample.data(), sample.size(), keys.size(), 1)) << step;
    std::vector<std::uint16_t> classes(keys.size());
    dictionary.find(keys.data(), keys.size(), classes.data());
    std::uint64_t num_found = 0;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (classes[i] == 0) continue;
      ASSERT_EQ(dictionary.key_of(classes[i]), keys[i]);
      ++num_found;
    }
    EXPECT_GE(6 * num_found, 5 * keys.size()) << "steps of " << step;
  }
}

TYPED_TEST(HashMultipliers, ValuesAStepApartAreCounted) {
  using K = TypeParam;
  for (const K step : this->steps()) EXPECT_TRUE(this->are_counted(this->keys_of(step))) << "steps of " << step;
  // By the first multiplier these are crowded, by the second too many find their cell taken, and by the third none.
  const std::vector<std::pair<K, std::uint64_t>> crowded =
      sizeof(K) == 4 ? std::vector<std::pair<K, std::uint64_t>>{{104, 1783}, {11830, 1830}, {37163, 1663}}
                     : std::vector<std::pair<K, std::uint64_t>>{{50259, 1123}, {57895, 1385}};
  for (const auto& [step, num_steps] : crowded) {
    EXPECT_TRUE(this->are_counted(this->keys_of(step, num_steps))) << "steps of " << step;
  }
}

/// Many of these values lie in one cell whatever the multiplier. None may be lost, and none counted twice.
TYPED_TEST(HashMultipliers, ValuesThatCollideByEachMultiplierAreLeftToOthers) {
  using K = TypeParam;
  std::vector<K> keys;
  const std::vector<K> steps = this->steps();
  for (const K step : std::span(steps).last(hash_multipliers<K>.size())) {
    for (K i = 1; i <= 480; ++i) keys.push_back(static_cast<K>(i * step));
  }
  EXPECT_FALSE(this->are_counted(keys));
  keys.resize(keys.size() / 2);
  EXPECT_TRUE(this->are_counted(keys)) << "two multipliers were to serve";
}

/// A late block of values may fill the second table before anyone has looked whether it is crowded.
TYPED_TEST(HashMultipliers, ValuesThatCollideLateAreCounted) {
  using K = TypeParam;
  std::vector<K> keys;
  for (K i = 0; i < 10'000; ++i) keys.push_back(i % 1000);
  for (K i = 1; i <= 900; ++i) keys.push_back(static_cast<K>(i * this->steps()[8]));
  EXPECT_TRUE(this->are_counted(keys));
}

/// Threads that count apart may have changed their multiplier, or not, before one adds what others counted.
TYPED_TEST(HashMultipliers, CountsOfDifferentMultipliersAreAdded) {
  using K = TypeParam;
  const auto rooms = std::make_unique<typename value_counts<K>::memory[]>(4);
  const std::vector<K> even = this->keys_of(1);
  const std::vector<K> crowded = this->keys_of(this->steps()[8]);
  std::vector<K> all = even;
  all.insert(all.end(), crowded.begin(), crowded.end());
  value_counts<K> of_even(rooms[0]);
  value_counts<K> of_crowded(rooms[1]);
  ASSERT_TRUE(of_even.add(even.data(), even.size()));
  ASSERT_TRUE(of_crowded.add(crowded.data(), crowded.size()));
  value_counts<K> empty(rooms[2]);
  ASSERT_TRUE(empty.add(of_crowded)) << "the multiplier was to change while counts are added";
  ASSERT_TRUE(empty.add(of_even));
  this->expect_counts(empty, all);
  ASSERT_TRUE(of_crowded.add(of_even));
  this->expect_counts(of_crowded, all);
}

TYPED_TEST(HashMultipliers, HeavyValuesAStepApartFindTheirCells) {
  using K = TypeParam;
  const auto codec = keys::key_codec{.type = sizeof(K) == 4 ? key_type::u32 : key_type::u64}.of<K>();
  const bijective_order<K> order(codec);
  for (const K step : this->steps()) {
    const std::vector<K> sample = this->sorted_sample(this->keys_of(step));
    const heavy_values<K> heavy(order, std::span<const K>(sample));
    EXPECT_GE(8 * heavy.values().size(), 7 * this->num_values * 9 / 10) << "steps of " << step;
  }
}

TEST(ChooseMultiplier, TakesTheFirstThatDoesAndElseTheBest) {
  const auto taken_last = [](std::uint64_t few, std::vector<std::uint64_t> lost) {
    std::vector<std::uint32_t> calls;
    choose_multiplier<std::uint32_t>(few, [&](std::uint32_t multiplier) {
      calls.push_back(multiplier);
      const auto which = std::ranges::find(hash_multipliers<std::uint32_t>, multiplier);
      return lost[static_cast<std::size_t>(which - hash_multipliers<std::uint32_t>.begin())];
    });
    return std::pair(calls.size(), calls.back());
  };
  constexpr auto all = hash_multipliers<std::uint32_t>;
  EXPECT_EQ(taken_last(5, {5, 0, 0, 0}), std::pair(std::size_t{1}, all[0]));
  EXPECT_EQ(taken_last(5, {6, 9, 5, 0}), std::pair(std::size_t{3}, all[2]));
  EXPECT_EQ(taken_last(5, {9, 6, 7, 8}), std::pair(std::size_t{5}, all[1]));
  EXPECT_EQ(taken_last(5, {9, 8, 7, 6}), std::pair(std::size_t{4}, all[3]));
}

}  // namespace
}  // namespace spansort::device::host
