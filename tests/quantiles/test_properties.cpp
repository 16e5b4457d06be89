// SPDX-License-Identifier: Apache-2.0
// These tests are of what must hold of order statistics of any data: random keys of a random type, infinities, NaN and
// the largest numbers among them, against the definition on sorted keys. `./dev test nightly` tries a million.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "spansort/statistics.hpp"
#include "spansort/top_k.hpp"
#include "statistics/of_sorted.hpp"
#include "support/environment.hpp"

namespace spansort::test {
namespace {

constexpr int num_methods = 13;

template <class K>
K random_key(random_words& random, std::uint64_t kind) {
  using limits = std::numeric_limits<K>;
  const std::uint64_t word = random();
  if constexpr (std::is_integral_v<K>) {
    if (kind == 0) return static_cast<K>(word);
    if (kind == 1) return static_cast<K>(word % 5);
    return word % 3 == 0 ? limits::min() : word % 3 == 1 ? limits::max() : static_cast<K>(word >> 60);
  } else {
    if (kind == 1) return static_cast<K>(word % 5) - 2;
    if (kind == 2) {
      const K extremes[]{limits::infinity(),
                         -limits::infinity(),
                         limits::max(),
                         limits::lowest(),
                         0,
                         -K{0},
                         limits::denorm_min(),
                         -limits::denorm_min(),
                         1};
      return extremes[word % std::size(extremes)];
    }
    return static_cast<K>(std::ldexp(static_cast<double>(word >> 11), -53) - 0.5);
  }
}

template <class K>
std::vector<K> random_keys(random_words& random) {
  const std::uint64_t kind = random.below(4);
  std::vector<K> keys(1 + random.below(random.below(8) == 0 ? 300 : 20));
  for (K& k : keys) k = random_key<K>(random, kind == 3 ? random.below(3) : kind);
  return keys;
}

bool is_same(double a, double b) { return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b); }

/// Sorted, as doubles, -0.0 first: what sorts of keys alone give.
template <class K>
std::vector<double> sorted_numbers(const std::vector<K>& keys) {
  std::vector<double> sorted;
  for (const K k : keys) {
    if (k == k) sorted.push_back(static_cast<double>(k));
  }
  std::ranges::sort(sorted,
                    [](double a, double b) { return a < b || (a == b && std::signbit(a) && !std::signbit(b)); });
  return sorted;
}

template <class K>
void check_quantiles(const std::vector<K>& keys, const std::vector<double>& sorted, random_words& random) {
  std::vector<double> q{0, 1};
  for (int i = 0; i < 4; ++i) q.push_back(std::ldexp(static_cast<double>(random() >> 11), -53));
  q.push_back(static_cast<double>(random.below(sorted.size() + 1)) / static_cast<double>(sorted.size()));
  std::ranges::sort(q);
  const auto method = static_cast<quantile_method>(random.below(num_methods));
  // Lists of host devices select; the CPU as such sorts so few keys.
  const std::string devices = random.below(4) == 0 ? "host:" + std::to_string(1 + random.below(8)) : "auto";
  const std::vector<double> found =
      quantiles(keys, q, {.method = method, .nans = nan_policy::omit, .devices = devices});
  for (std::size_t i = 0; i < q.size(); ++i) {
    ASSERT_TRUE(is_same(found[i], statistics::test::quantile_of_sorted(sorted, q[i], method)))
        << name(method) << std::hexfloat << " q = " << q[i] << ", found " << found[i];
    ASSERT_GE(found[i], i == 0 ? sorted.front() : found[i - 1]);
    ASSERT_LE(found[i], sorted.back());
  }
}

template <class K>
void check_rank(const std::vector<K>& keys, const std::vector<double>& sorted, K value) {
  const key_rank rank = rank_of(keys, value);
  const auto number = static_cast<double>(value);
  const auto less = static_cast<std::uint64_t>(std::ranges::count_if(keys, [&](K k) { return k < value; }));
  const auto equal = static_cast<std::uint64_t>(std::ranges::count(keys, value));
  if (std::isnan(number)) {
    ASSERT_EQ(rank.num_less, sorted.size());
  } else {
    ASSERT_EQ(rank.num_less, less);
    ASSERT_EQ(rank.num_equal, equal);
  }
  ASSERT_EQ(rank.num_less + rank.num_equal + rank.num_greater, keys.size());
  ASSERT_EQ(rank.num_nans, keys.size() - sorted.size());
}

template <class K>
void check_top(const std::vector<K>& keys, const std::vector<double>& sorted, std::uint64_t k) {
  const std::vector<K> top = top_k(keys, k);
  const std::vector<K> bottom = bottom_k(keys, k);
  const std::vector<std::uint64_t> positions = top_k_indices(keys, k);
  ASSERT_EQ(top.size(), std::min<std::uint64_t>(k, sorted.size()));
  ASSERT_EQ(bottom.size(), top.size());
  ASSERT_EQ(positions.size(), top.size());
  for (std::size_t i = 0; i < top.size(); ++i) {
    ASSERT_TRUE(is_same(static_cast<double>(top[i]), sorted[sorted.size() - 1 - i])) << i;
    ASSERT_TRUE(is_same(static_cast<double>(bottom[i]), sorted[i])) << i;
    ASSERT_EQ(keys[positions[i]], top[i]);
    if (i != 0 && top[i] == top[i - 1]) {
      ASSERT_LT(positions[i - 1], positions[i]);
    }
  }
}

template <class K>
void check_case(random_words& random) {
  std::vector<K> keys = random_keys<K>(random);
  if constexpr (std::is_floating_point_v<K>) {
    const K nan = std::numeric_limits<K>::quiet_NaN();
    const bool has_nans = random.below(3) == 0;
    for (K& k : keys) k = has_nans && random.below(10) == 0 ? (random.below(2) == 0 ? nan : -nan) : k;
  }
  const std::vector<double> sorted = sorted_numbers(keys);
  check_rank(keys, sorted, random.below(2) == 0 ? keys[random.below(keys.size())] : random_key<K>(random, 2));
  check_top(keys, sorted, random.below(keys.size() + 2));
  if (!sorted.empty()) check_quantiles(keys, sorted, random);
}

TEST(OrderProperties, HoldForAnyKeys) {
  const std::uint64_t count = num_cases(5000);
  for (std::uint64_t i = 0; i < count && !HasFailure(); ++i) {
    SCOPED_TRACE("case " + std::to_string(i) + " of SPANSORT_TEST_SEED=" + std::to_string(base_seed()));
    random_words random(seed_for(i));
    switch (i % 6) {
      case 0: check_case<double>(random); break;
      case 1: check_case<float>(random); break;
      case 2: check_case<std::int64_t>(random); break;
      case 3: check_case<std::uint64_t>(random); break;
      case 4: check_case<std::int16_t>(random); break;
      default: check_case<std::uint8_t>(random); break;
    }
  }
}

}  // namespace
}  // namespace spansort::test
