// SPDX-License-Identifier: Apache-2.0
// These tests are of the parts of the sorts of Satish, Harris and Garland: the network, the splitters and the intervals
// of a merge.
// Kernels and host threads share it, so what holds here holds there.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "device/satish_tiles.hpp"
#include "support/environment.hpp"

namespace spansort::device::satish {
namespace {

/// The comparators of the network over `num_places`, as their lower and upper ends, step by step.
std::vector<std::pair<unsigned, unsigned>> network_of(unsigned num_places) {
  std::vector<std::pair<unsigned, unsigned>> network;
  for (unsigned half = 1; half < num_places; half *= 2) {
    for (unsigned distance = half; distance != 0; distance /= 2) {
      std::vector<bool> is_taken(num_places);
      for (unsigned at = 0; at < num_places; ++at) {
        if (!begins_comparator(at, half, distance, num_places)) continue;
        EXPECT_FALSE(is_taken[at] || is_taken[at + distance]) << "two comparators of one step at " << at;
        is_taken[at] = is_taken[at + distance] = true;
        network.emplace_back(at, at + distance);
      }
    }
  }
  return network;
}

TEST(SatishNetwork, SortsAllZerosAndOnes) {
  // A network that sorts all of these sorts everything (Knuth, 5.3.4).
  for (unsigned num_places : {1U, 2U, 4U, 8U, 16U}) {
    const auto network = network_of(num_places);
    for (std::uint32_t input = 0; input < 1U << num_places; ++input) {
      std::uint32_t values = input;
      for (const auto& [lower, upper] : network) {
        const bool swaps = (values >> lower & 1) > (values >> upper & 1);
        if (swaps) values ^= (1U << lower) | (1U << upper);
      }
      bool falls = false;
      for (unsigned i = 1; i < num_places; ++i) falls = falls || (values >> (i - 1) & 1) > (values >> i & 1);
      ASSERT_FALSE(falls) << num_places << " places, input " << input;
    }
  }
}

TEST(SatishNetwork, HasBatchersNumberOfComparators) {
  EXPECT_EQ(network_of(256).size(), 3839U);
  EXPECT_EQ(network_of(16).size(), 63U);
}

TEST(SatishNetwork, IsStableByPlaces) {
  std::mt19937_64 random(test::seed_for(1));
  const auto network = network_of(merge_tile_keys);
  for (const unsigned num_values : {1U, 2U, 7U, 300U}) {
    std::vector<std::pair<unsigned, unsigned>> tile;
    for (unsigned i = 0; i < merge_tile_keys; ++i) tile.emplace_back(random() % num_values, i);
    std::vector<std::pair<unsigned, unsigned>> expected = tile;
    std::stable_sort(expected.begin(), expected.end(), [](auto l, auto r) { return l.first < r.first; });
    for (const auto& [lower, upper] : network) {
      const auto l = tile[lower];
      const auto r = tile[upper];
      if (is_out_of_order(l.first, l.second, r.first, r.second)) std::swap(tile[lower], tile[upper]);
    }
    EXPECT_EQ(tile, expected) << num_values << " values, seed " << test::seed_for(1);
  }
}

TEST(SatishWords, HoldDigitAndPlace) {
  for (unsigned digit = 0; digit < radix_buckets; ++digit) {
    for (const unsigned place : {0U, 1U, 511U, 1023U}) {
      const std::uint16_t word = split_word(digit, place);
      EXPECT_EQ(digit_of(word), digit);
      EXPECT_EQ(place_of(word), place);
      for (unsigned s = 0; s < radix_digit_bits; ++s) EXPECT_EQ(split_bit(word, s), digit >> s & 1);
    }
  }
}

/// A key and its position in the input, so that instability shows.
struct numbered {
  std::uint32_t key = 0;
  std::size_t position = 0;
  friend bool operator==(const numbered&, const numbered&) = default;
};

/// Merges all pairs of runs of `run_keys` by intervals, and says what is wrong with the intervals.
void merge_level(std::vector<numbered>& all, std::uint64_t run_keys) {
  const std::uint64_t n = all.size();
  std::vector<std::uint32_t> keys(n);
  std::ranges::transform(all, keys.begin(), &numbered::key);
  const encoded_keys<std::uint32_t> array{keys.data(), {}, 0};
  const std::uint64_t num_tiles = num_merge_tiles(n);
  const interval_begin unset{~std::uint64_t{0}, 0};
  std::vector<interval_begin> begins(num_tiles, unset);
  for (std::uint64_t tile = 0; tile < num_tiles; ++tile) {
    const run_pair pair = pair_at(tile * merge_tile_keys, run_keys, n);
    const placed_splitter placed = place_splitter(array, pair, tile * merge_tile_keys);
    interval_begin& begin = begins.at(pair.begin / merge_tile_keys + placed.number);
    EXPECT_EQ(begin.in_a, unset.in_a) << "two splitters with one number";
    begin = placed.begin;
  }
  std::vector<numbered> merged(n);
  std::uint64_t expected_to = 0;
  for (std::uint64_t i = 0; i < num_tiles; ++i) {
    const merge_interval m = interval_at(begins.data(), i, run_keys, n);
    ASSERT_LE(m.num_a, merge_tile_keys);
    ASSERT_LE(m.num_b, merge_tile_keys);
    ASSERT_EQ(m.to, expected_to);
    expected_to += m.num_a + m.num_b;
    const auto at = [&](std::uint64_t position) { return all.begin() + static_cast<std::ptrdiff_t>(position); };
    std::merge(at(m.a), at(m.a + m.num_a), at(m.b), at(m.b + m.num_b),
               merged.begin() + static_cast<std::ptrdiff_t>(m.to),
               [](const numbered& l, const numbered& r) { return l.key < r.key; });
  }
  ASSERT_EQ(expected_to, n);
  all = std::move(merged);
}

TEST(SatishMerge, IntervalsCoverBothRunsAndKeepTiesInOrder) {
  std::mt19937_64 random(test::seed_for(2));
  for (const std::uint64_t n : {1, 255, 256, 257, 511, 512, 513, 1000, 1024, 1025, 2048, 5000, 8192, 8193, 20'000}) {
    for (const std::uint32_t num_values : {1U, 2U, 100U, 4'000'000'000U}) {
      std::vector<numbered> all(n);
      for (std::size_t i = 0; i < n; ++i) all[i] = {static_cast<std::uint32_t>(random() % num_values), i};
      std::vector<numbered> expected = all;
      const auto is_less = [](const numbered& l, const numbered& r) { return l.key < r.key; };
      std::stable_sort(expected.begin(), expected.end(), is_less);
      for (std::uint64_t begin = 0; begin < n; begin += merge_tile_keys) {
        const auto first = all.begin() + static_cast<std::ptrdiff_t>(begin);
        std::stable_sort(first, first + static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(256, n - begin)), is_less);
      }
      for (std::uint64_t run_keys = merge_tile_keys; run_keys < n; run_keys *= 2) {
        ASSERT_NO_FATAL_FAILURE(merge_level(all, run_keys)) << n << " keys, seed " << test::seed_for(2);
      }
      ASSERT_EQ(all, expected) << n << " keys of " << num_values << " values, seed " << test::seed_for(2);
    }
  }
}

TEST(SatishMerge, RanksCountEqualKeysWhereAsked) {
  const std::uint32_t values[] = {1, 9, 3, 9, 3, 9, 5, 9};
  EXPECT_EQ(rank_among(values, 0, 2, 4, 3U, false), 1U);
  EXPECT_EQ(rank_among(values, 0, 2, 4, 3U, true), 3U);
  EXPECT_EQ(rank_among(values, 0, 2, 4, 0U, true), 0U);
  EXPECT_EQ(rank_among(values, 0, 2, 4, 6U, false), 4U);
  EXPECT_EQ(rank_among(values, 0, 2, 0, 6U, false), 0U);
}

}  // namespace
}  // namespace spansort::device::satish
