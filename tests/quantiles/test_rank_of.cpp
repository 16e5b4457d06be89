// SPDX-License-Identifier: Apache-2.0
// rank_of() against a look at every key, on keys in any order and on keys in order, however they are spread.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "base/test_hooks.hpp"
#include "keys/codec.hpp"
#include "spansort/errors.hpp"
#include "spansort/generate.hpp"
#include "spansort/sort.hpp"
#include "spansort/statistics.hpp"
#include "support/environment.hpp"

namespace spansort::test {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

template <class K>
key_rank expected_rank(const std::vector<K>& keys, K value) {
  key_rank rank;
  for (const K k : keys) {
    const bool is_nan = k != k;
    rank.num_nans += is_nan ? 1 : 0;
    const bool is_equal = k == value || (is_nan && value != value);
    const bool is_less = k < value || (value != value && !is_nan);
    ++(is_equal ? rank.num_equal : is_less ? rank.num_less : rank.num_greater);
  }
  return rank;
}

/// Expects the right ranks of keys in any order, on all kinds of device lists, and sorted both ways.
template <class K>
void expect_ranks(std::vector<K> keys, const std::vector<K>& values) {
  for (const K value : values) {
    const key_rank expected = expected_rank(keys, value);
    for (const char* devices : {"auto", "host:3"}) {
      EXPECT_TRUE(rank_of(keys, value, {.devices = devices}) == expected)
          << name(key_traits<K>::type) << " " << +value << " on " << devices;
    }
    const base::test_hooks_scope hooks({.host_separate_memory = true});
    EXPECT_TRUE(rank_of(keys, value, {.devices = "host:3"}) == expected);
  }
  for (const key_order order : {key_order::ascending, key_order::descending}) {
    sort(keys, keys::direction_of(order == key_order::descending), {.devices = "cpu"});
    for (const K value : values) {
      EXPECT_TRUE(rank_of(keys, value, {.order = order}) == expected_rank(keys, value))
          << name(key_traits<K>::type) << " " << +value << (order == key_order::descending ? " descending" : "");
    }
  }
}

template <class K>
void expect_ranks_of_integers() {
  constexpr K low = std::numeric_limits<K>::min();
  constexpr K high = std::numeric_limits<K>::max();
  std::vector<K> keys(70'001);
  generate(as_key_span(std::span(keys)), {distribution_kind::zipf, 1}, seed_for(sizeof(K)));
  keys.insert(keys.end(), {low, low, high, 0, 7, 7, 7});
  expect_ranks<K>(keys, {low, high, 0, 1, 7, keys[100], static_cast<K>(high - 1), static_cast<K>(low + 1)});
  expect_ranks<K>({high}, {low, high});
  expect_ranks<K>({low, low}, {low, high, 3});
}

TEST(RankOf, CountsIntegersOfEveryWidth) {
  expect_ranks_of_integers<std::uint8_t>();
  expect_ranks_of_integers<std::int8_t>();
  expect_ranks_of_integers<std::uint16_t>();
  expect_ranks_of_integers<std::int32_t>();
  expect_ranks_of_integers<std::uint64_t>();
  expect_ranks_of_integers<std::int64_t>();
}

template <class K>
void expect_ranks_of_floats() {
  constexpr K most = std::numeric_limits<K>::max();
  const K inf = std::numeric_limits<K>::infinity();
  const K not_a_number = std::numeric_limits<K>::quiet_NaN();
  std::vector<K> keys(60'000);
  generate(as_key_span(std::span(keys)), {distribution_kind::normal}, seed_for(sizeof(K)));
  const std::vector<K> special{-0.0,          0.0,  -0.0,  0.0,          inf,  -inf, not_a_number,
                               -not_a_number, most, -most, not_a_number, -inf, 1};
  keys.insert(keys.begin() + 30'000, special.begin(), special.end());
  expect_ranks<K>(keys, {0, -0.0, 1, inf, -inf, most, -most, not_a_number, -not_a_number, keys[5],
                         std::numeric_limits<K>::denorm_min()});
  expect_ranks<K>(special, special);
  expect_ranks<K>({not_a_number}, {0, not_a_number});
}

TEST(RankOf, CountsFloatsWithNaNsLast) {
  expect_ranks_of_floats<float>();
  expect_ranks_of_floats<double>();
}

TEST(RankOf, OfHalfPrecisionComparesNumbers) {
  // -0.0, +0.0, 1.5, inf, NaN, -NaN
  const std::vector<float16> keys{{0x8000}, {0x0000}, {0x3e00}, {0x7c00}, {0x7e00}, {0xfe01}};
  EXPECT_TRUE(rank_of(keys, {0x8000}) == (key_rank{.num_less = 0, .num_equal = 2, .num_greater = 4, .num_nans = 2}));
  EXPECT_TRUE(rank_of(keys, {0x7c01}) == (key_rank{.num_less = 4, .num_equal = 2, .num_greater = 0, .num_nans = 2}));
}

TEST(RankOf, EveryFewOverEverySplitIsTheSame) {
  for (std::uint64_t n = 0; n <= 64; ++n) {
    std::vector<double> keys(n);
    generate(as_key_span(std::span(keys)), {distribution_kind::entropy, 3}, seed_for(n));
    if (n > 3) keys[n / 2] = nan;
    if (n > 5) keys[1] = infinity;
    const double value = n == 0 ? 1 : keys[n / 3];
    const key_rank expected = expected_rank(keys, value);
    for (int count = 1; count <= 8; ++count) {
      EXPECT_TRUE(rank_of(keys, value, {.devices = "host:" + std::to_string(count)}) == expected)
          << n << " keys, " << count << " devices";
    }
  }
}

/// Pages that nobody has written to are one page of zeros: address space is all that this takes.
TEST(RankOfSlow, CountsBeyond32Bits) {
  const std::uint64_t n = (std::uint64_t{1} << 32) + 10;
  void* const memory = mmap(nullptr, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) GTEST_SKIP() << "no address space for 4 GiB";
  static_cast<std::uint8_t*>(memory)[n - 2] = 9;
  const std::uint8_t value = 5;
  EXPECT_TRUE(rank_of(const_key_span(key_type::u8, memory, n), &value) ==
              (key_rank{.num_less = n - 1, .num_equal = 0, .num_greater = 1, .num_nans = 0}));
  munmap(memory, n);
}

TEST(RankOf, RefusesWhatCannotBe) {
  const std::vector<double> keys{1, 2};
  EXPECT_THROW(static_cast<void>(rank_of(keys, 1, {.devices = "host:0"})), invalid_argument);
  EXPECT_THROW(static_cast<void>(rank_of(keys, 1, {.order = key_order::ascending, .devices = "what"})),
               invalid_argument);
  EXPECT_THROW(static_cast<void>(rank_of(as_const_key_span(std::span<const double>(keys)), nullptr)), invalid_argument);
}

}  // namespace
}  // namespace spansort::test
