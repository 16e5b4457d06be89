// SPDX-License-Identifier: Apache-2.0
// Hash tables of keys a step apart: for each multiplier there is a step by which all keys fall into one cell, and
// another multiplier is to serve.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <span>
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
  std::vector<K> keys_of(K step) {
    std::vector<K> keys(num_keys);
    for (K& key : keys) key = static_cast<K>(random_() % num_values * step);
    return keys;
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
  for (const K step : this->steps()) {
    const std::vector<K> keys = this->keys_of(step);
    const auto room = std::make_unique<typename value_counts<K>::memory>();
    value_counts<K> counts(*room);
    ASSERT_TRUE(counts.add(keys.data(), keys.size())) << "steps of " << step;
    std::ranges::sort(counts.values());
    const std::span<const K> values = counts.values();
    const std::span<const std::uint64_t> ends = counts.ends();
    std::vector<K> sorted = keys;
    std::ranges::sort(sorted);
    ASSERT_EQ(ends.back(), keys.size());
    std::uint64_t begin = 0;
    for (std::size_t v = 0; v < values.size(); begin = ends[v++]) {
      ASSERT_LT(begin, ends[v]);
      ASSERT_EQ(sorted[begin], values[v]);
      ASSERT_EQ(sorted[ends[v] - 1], values[v]);
    }
  }
}

/// Threads that count apart may have changed their multiplier, or not, before one adds what others counted.
TYPED_TEST(HashMultipliers, CountsOfDifferentMultipliersAreAdded) {
  using K = TypeParam;
  const auto rooms = std::make_unique<typename value_counts<K>::memory[]>(2);
  value_counts<K> even(rooms[0]);
  value_counts<K> crowded(rooms[1]);
  const std::vector<K> first = this->keys_of(1);
  const std::vector<K> second = this->keys_of(this->steps()[8]);
  ASSERT_TRUE(even.add(first.data(), first.size()));
  ASSERT_TRUE(crowded.add(second.data(), second.size()));
  ASSERT_TRUE(crowded.add(even));
  std::ranges::sort(crowded.values());
  std::vector<K> sorted = first;
  sorted.insert(sorted.end(), second.begin(), second.end());
  std::ranges::sort(sorted);
  const std::span<const K> values = crowded.values();
  const std::span<const std::uint64_t> ends = crowded.ends();
  ASSERT_EQ(ends.back(), sorted.size());
  for (std::size_t v = 0; v < values.size(); ++v) ASSERT_EQ(sorted[ends[v] - 1], values[v]);
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
