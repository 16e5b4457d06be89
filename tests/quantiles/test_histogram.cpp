// SPDX-License-Identifier: Apache-2.0
// histogram() against a count of every key, and its edges.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "spansort/errors.hpp"
#include "spansort/sort.hpp"
#include "spansort/statistics.hpp"
#include "support/environment.hpp"

namespace spansort::test {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

/// numpy.histogram's definition: half-open bins, the last one closed.
template <class K>
std::vector<std::uint64_t> counted(const std::vector<K>& keys, const std::vector<double>& edges) {
  std::vector<std::uint64_t> counts(edges.size() - 1);
  for (const K key : keys) {
    const auto value = static_cast<double>(key);
    for (std::size_t i = 0; i < counts.size(); ++i) {
      const bool is_last = i + 1 == counts.size();
      if (value >= edges[i] && (value < edges[i + 1] || (is_last && value == edges[i + 1]))) ++counts[i];
    }
  }
  return counts;
}

TEST(Histogram, CountsAsTheDefinitionForAnyNumberOfEdges) {
  std::mt19937_64 random(seed_for(1));
  std::vector<double> doubles;
  std::vector<std::int8_t> small;
  std::vector<std::uint64_t> wide;
  for (int i = 0; i < 5003; ++i) {
    doubles.push_back(std::normal_distribution<double>()(random));
    small.push_back(static_cast<std::int8_t>(random()));
    wide.push_back(random());
  }
  for (const double special : {nan, -nan, infinity, -infinity, 0.0, -0.0}) doubles.push_back(special);
  // 63 bounds are counted in a read: one, a little more, several reads.
  for (const std::uint64_t num_bins : {1u, 2u, 61u, 62u, 63u, 64u, 125u, 126u, 127u, 300u}) {
    for (const char* const devices : {"auto", "host:3"}) {
      const auto of_doubles = equal_width_edges(-2, 2, num_bins);
      EXPECT_EQ(histogram(doubles, of_doubles, {.devices = devices}), counted(doubles, of_doubles)) << num_bins;
      const auto of_small = equal_width_edges(-128, 127, num_bins);
      EXPECT_EQ(histogram(small, of_small, {.devices = devices}), counted(small, of_small)) << num_bins;
      const auto of_wide = equal_width_edges(0, 18446744073709551616.0, num_bins);
      EXPECT_EQ(histogram(wide, of_wide, {.devices = devices}), counted(wide, of_wide)) << num_bins;
    }
  }
}

/// Edges of uneven widths from the keys themselves, twice the same among them, and ends.
template <class K>
std::vector<double> make_edges(const std::vector<K>& keys, std::size_t num_edges, std::mt19937_64& random) {
  std::vector<double> edges;
  while (edges.size() < num_edges) {
    const auto edge = static_cast<double>(keys[random() % keys.size()]);
    if (!std::isnan(edge)) edges.push_back(edge);
  }
  std::ranges::sort(edges);
  edges[num_edges / 2] = edges[num_edges / 2 - 1];
  return edges;
}

template <class K>
void expect_many_edges(std::vector<K> keys, std::mt19937_64& random) {
  std::vector<double> sorted;
  for (const K key : keys) {
    if (!std::isnan(static_cast<double>(key))) sorted.push_back(static_cast<double>(key));
  }
  std::ranges::sort(sorted);
  for (const std::size_t num_edges : {70U, 200U, 700U, 5000U}) {
    const std::vector<double> edges = make_edges(keys, num_edges, random);
    std::vector<std::uint64_t> expected;
    for (std::size_t i = 0; i + 1 < num_edges; ++i) {
      const auto begin = std::ranges::lower_bound(sorted, edges[i]);
      const auto end = i + 2 == num_edges ? std::ranges::upper_bound(sorted, edges[i + 1])
                                          : std::ranges::lower_bound(sorted, edges[i + 1]);
      expected.push_back(static_cast<std::uint64_t>(end - begin));
    }
    EXPECT_EQ(histogram(keys, edges), expected) << name(key_traits<K>::type) << ", " << num_edges << " edges";
    EXPECT_EQ(histogram(keys, edges, {.threads = 1}), expected) << name(key_traits<K>::type);
  }
}

TEST(Histogram, LooksUpManyKeysAmongManyEdges) {
  const std::size_t bytes = std::size_t{3} << 20;  // more than what is sorted in a copy
  std::mt19937_64 random(seed_for(2));
  const auto make = [&]<class K>(K) {
    std::vector<K> keys(bytes / sizeof(K));
    for (K& key : keys) {
      if constexpr (std::is_floating_point_v<K>) {
        key = static_cast<K>(std::normal_distribution<double>()(random));
        if (random() % 50 == 0) key = static_cast<K>(random() % 2 == 0 ? nan : -infinity);
        if (random() % 50 == 0) key = static_cast<K>(random() % 2 == 0 ? -0.0 : infinity);
      } else {
        key = static_cast<K>(random() >> random() % 20);
      }
    }
    return keys;
  };
  expect_many_edges(make(double{}), random);
  expect_many_edges(make(float{}), random);
  expect_many_edges(make(std::uint64_t{}), random);
  expect_many_edges(make(std::int32_t{}), random);
  expect_many_edges(make(std::int16_t{}), random);
  expect_many_edges(make(std::uint8_t{}), random);
}

TEST(Histogram, EdgesBelongToTheBinAboveButTheLast) {
  const std::vector<std::int32_t> keys{0, 1, 1, 2, 2, 2, 3, 3, 3, 3};
  const std::vector<double> edges{0, 1, 2, 3};
  EXPECT_EQ(histogram(keys, edges), (std::vector<std::uint64_t>{1, 2, 7}));
  const std::vector<double> inner{1, 2};
  EXPECT_EQ(histogram(keys, inner), std::vector<std::uint64_t>{5});
  const std::vector<double> equal{1, 1, 3, 3};
  EXPECT_EQ(histogram(keys, equal), (std::vector<std::uint64_t>{0, 5, 4}));
  const std::vector<double> all{-infinity, 1, infinity};
  EXPECT_EQ(histogram(keys, all), (std::vector<std::uint64_t>{1, 9}));
}

/// Keys about -50 to 50, with NaN, infinities, zeros of both signs and whole numbers among the floats.
template <class K>
std::vector<K> make_mixed(std::size_t num_keys, std::mt19937_64& random) {
  std::vector<K> keys(num_keys);
  for (K& key : keys) {
    if constexpr (std::is_floating_point_v<K>) {
      constexpr std::array<double, 6> specials{nan, infinity, -infinity, -0.0, 0.0, 7.0};
      const bool is_special = random() % 8 == 0;
      key = static_cast<K>(is_special ? specials[random() % specials.size()]
                                      : std::uniform_real_distribution<double>(-50, 50)(random));
    } else {
      key = static_cast<K>(random() % 100);
    }
  }
  return keys;
}

/// Edges that are even but for up to so much of a bin's width.
std::vector<double> shaken(std::vector<double> edges, double part, std::mt19937_64& random) {
  const double width = edges[1] - edges[0];
  for (double& edge : edges) edge += std::uniform_real_distribution<double>(-part, part)(random) * width;
  std::ranges::sort(edges);
  return edges;
}

template <class K>
void expect_every_way(std::mt19937_64& random) {
  for (const std::size_t num_keys :
       {1U, 256U, 257U, 1024U, 1025U, 4096U, 4097U, 16384U, 16385U, 32768U, 32769U, 70'001U}) {
    const std::vector<K> keys = make_mixed<K>(num_keys, random);
    for (const std::uint64_t num_bins : {1U, 15U, 16U, 100U}) {
      const std::vector<double> even = equal_width_edges(-20, 40, num_bins);
      std::vector<double> curved = even;
      for (double& edge : curved) edge = edge * edge * edge;
      for (const std::vector<double>& edges :
           {even, shaken(even, 0.25, random), shaken(even, 0.5, random), shaken(even, 3, random), curved}) {
        EXPECT_EQ(histogram(keys, edges), counted(keys, edges))
            << num_keys << " " << name(key_traits<K>::type) << ", " << num_bins << " bins from " << edges[0];
      }
      if (is_small_scale() && num_keys > 4097) break;
    }
  }
}

/// Sizes about those from which keys are counted in another way, and edges that are even, nearly even and uneven.
TEST(Histogram, EveryWayCountsAlike) {
  std::mt19937_64 random(seed_for(3));
  expect_every_way<double>(random);
  expect_every_way<float>(random);
  expect_every_way<std::int64_t>(random);
  expect_every_way<std::uint8_t>(random);
}

TEST(Histogram, OfEdgesAtTheEndsOfDoubles) {
  const double largest = std::numeric_limits<double>::max();
  const double least = std::numeric_limits<double>::denorm_min();
  std::vector<double> keys;
  for (const double key : {0.0, least, 2 * least, 3 * least, 1.0, largest / 2, largest, infinity}) {
    keys.push_back(key);
    keys.push_back(-key);
  }
  keys.push_back(nan);
  const std::vector<std::vector<double>> all_edges{equal_width_edges(-largest, largest, 100),
                                                   equal_width_edges(0, largest, 100),
                                                   {-infinity, infinity},
                                                   {-infinity, -1, 0, infinity},
                                                   {infinity, infinity},
                                                   {0, least, 2 * least, 3 * least},
                                                   {-least, 0, least},
                                                   {0, 0, 0},
                                                   {1, 1},
                                                   {-0.0, 0.0, 1}};
  for (const std::vector<double>& edges : all_edges) {
    EXPECT_EQ(histogram(keys, edges), counted(keys, edges)) << edges.size() << " edges from " << edges[0];
  }
}

/// Edges are keys, numbers next to them, and numbers that the type does not reach.
template <class K>
void expect_bounds_in_order(std::mt19937_64& random) {
  std::vector<K> keys(2000);
  for (K& key : keys) {
    const std::uint64_t bits = random() >> random() % 64;
    std::memcpy(&key, &bits, sizeof(key));
  }
  std::vector<double> edges{-infinity, -1e300, -1e20, -0.0, 0.0, 0.5, 1e20, 1e300, infinity};
  for (std::size_t i = 0; i < 200; ++i) {
    const auto edge = static_cast<double>(keys[i]);
    if (std::isnan(edge)) continue;
    edges.insert(edges.end(), {edge, std::nextafter(edge, infinity), std::nextafter(edge, -infinity)});
  }
  std::ranges::sort(edges);
  const std::vector<std::uint64_t> expected = counted(keys, edges);
  EXPECT_EQ(histogram(keys, edges), expected) << name(key_traits<K>::type);
  EXPECT_EQ(histogram(keys, edges, {.devices = "host:2"}), expected) << name(key_traits<K>::type);
  sort(keys);
  EXPECT_EQ(histogram(keys, edges, {.order = key_order::ascending}), expected) << name(key_traits<K>::type);
}

TEST(Histogram, BoundsOfEdgesAreThoseOfTheirNumbers) {
  std::mt19937_64 random(seed_for(4));
  expect_bounds_in_order<double>(random);
  expect_bounds_in_order<float>(random);
  expect_bounds_in_order<std::int64_t>(random);
  expect_bounds_in_order<std::uint64_t>(random);
  expect_bounds_in_order<std::int32_t>(random);
  expect_bounds_in_order<std::uint32_t>(random);
  expect_bounds_in_order<std::int16_t>(random);
  expect_bounds_in_order<std::uint8_t>(random);
}

TEST(Histogram, OfNothingAndOfNaNIsZero) {
  const std::vector<double> edges{0, 1, 2};
  EXPECT_EQ(histogram(std::vector<float>{}, edges), (std::vector<std::uint64_t>{0, 0}));
  EXPECT_EQ(histogram(std::vector<double>(100, nan), edges), (std::vector<std::uint64_t>{0, 0}));
  EXPECT_EQ(histogram(std::vector<double>(50'000, nan), edges), (std::vector<std::uint64_t>{0, 0}));
  EXPECT_EQ(histogram(std::vector<double>(50'000, 2), edges), (std::vector<std::uint64_t>{0, 50'000}));
}

TEST(Histogram, RefusesWhatIsNotEdges) {
  const std::vector<float> keys{1, 2};
  for (const std::vector<double>& edges :
       {std::vector<double>{}, {1.0}, {2.0, 1.0}, {0.0, nan}, {nan, 1.0}, {0.0, nan, 1.0}}) {
    EXPECT_THROW(static_cast<void>(histogram(keys, edges)), invalid_argument);
  }
  const std::vector<double> edges{0, 1};
  EXPECT_THROW(static_cast<void>(histogram(keys, edges, {.devices = "host:0"})), invalid_argument);
  EXPECT_THROW(static_cast<void>(histogram(keys, edges, {.threads = 1025})), invalid_argument);
}

TEST(EqualWidthEdges, AreThoseOfLinspace) {
  // numpy.linspace(0.1, 0.7, 8)
  EXPECT_EQ(equal_width_edges(0.1, 0.7, 7),
            (std::vector<double>{0.1, 0.18571428571428572, 0.27142857142857146, 0.3571428571428571, 0.44285714285714284,
                                 0.5285714285714286, 0.6142857142857142, 0.7}));
  EXPECT_EQ(equal_width_edges(3, 3, 2), (std::vector<double>{3, 3, 3}));
  const double largest = std::numeric_limits<double>::max();
  const std::vector<double> widest = equal_width_edges(-largest, largest, 4);
  EXPECT_EQ(widest.front(), -largest);
  EXPECT_EQ(widest[2], 0);
  EXPECT_EQ(widest.back(), largest);
  EXPECT_TRUE(std::ranges::is_sorted(widest));
}

TEST(EqualWidthEdges, RefusesEndsThatAreNone) {
  EXPECT_THROW(static_cast<void>(equal_width_edges(0, 1, 0)), invalid_argument);
  EXPECT_THROW(static_cast<void>(equal_width_edges(1, 0, 3)), invalid_argument);
  EXPECT_THROW(static_cast<void>(equal_width_edges(nan, 1, 3)), invalid_argument);
  EXPECT_THROW(static_cast<void>(equal_width_edges(0, infinity, 3)), invalid_argument);
}

}  // namespace
}  // namespace spansort::test
