// SPDX-License-Identifier: Apache-2.0
// The ways of a GPU's own local sort: 8-byte keys by buckets or by passes, 4-byte keys by counts behind passes over
// their high halves or by passes. Each is forced, and each is chosen by a look at the keys. The number of passes in the
// report tells which one it was.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "device/cuda/tuning/even_keys_policy.hpp"
#include "gpu/gpu_sort_test.hpp"

namespace spansort::test {
namespace {

using base::gpu_buckets;
using kind = operation::kind;

constexpr unsigned num_lsd_passes = 8;
constexpr unsigned num_counting_passes = 3;  ///< with the finish

/// All levels of so few keys are one launch, but where blocks cannot meet.
struct bucket_case {
  gpu_buckets buckets = {};
  bool blocks_cannot_meet = false;
};

class gpu_bucket_sort_test : public gpu_sort_test, public testing::WithParamInterface<bucket_case> {
 protected:
  sorter sorter_of() {
    return reporting_sorter({.blocks_cannot_meet = GetParam().blocks_cannot_meet, .buckets = GetParam().buckets});
  }
  /// Returns whether all keys of 8 bytes go by buckets of a spread.
  static bool goes_by_spread() {
    return GetParam().buckets == gpu_buckets::by_spread || GetParam().buckets == gpu_buckets::by_wide_spread;
  }
};

TEST_P(gpu_bucket_sort_test, SortsAllTypesAndWidths) {
  const operation operations[] = {{kind::keys, 0},   {kind::pairs, 4},   {kind::pairs, 8},
                                  {kind::pairs, 16}, {kind::argsort, 4}, {kind::argsort, 8}};
  sorter s = sorter_of();
  for (const key_type type :
       {key_type::u64, key_type::i64, key_type::f64, key_type::u32, key_type::i32, key_type::f32}) {
    for (const bool descending : {false, true}) {
      for (const operation& op : operations) {
        for (const char* const shape : {"uniform", "zipf:1", "special-floats", "sorted", "reverse", "zero"}) {
          ASSERT_NO_FATAL_FAILURE(expect_sorted(s, type, 20'011, shape, op, descending));
        }
      }
    }
  }
}

TEST_P(gpu_bucket_sort_test, SortsSizesAroundItsLimits) {
  sorter s = sorter_of();
  for (const std::uint64_t n :
       {2U, 31U, 63U, 64U, 65U, 95U, 2'304U, 2'305U, 4'609U, 9'216U, 9'217U, 131'071U, 131'072U, 131'105U, 600'011U}) {
    for (const char* const shape : {"uniform", "entropy:4", "nearly-sorted", "reverse", "zero"}) {
      ASSERT_NO_FATAL_FAILURE(expect_sorted(s, key_type::u64, n, shape, {kind::keys, 0}, false));
      ASSERT_NO_FATAL_FAILURE(expect_sorted(s, key_type::i64, n, shape, {kind::pairs, 8}, true));
      ASSERT_NO_FATAL_FAILURE(expect_sorted(s, key_type::u32, n, shape, {kind::keys, 0}, false));
      ASSERT_NO_FATAL_FAILURE(expect_sorted(s, key_type::i32, n, shape, {kind::pairs, 4}, true));
    }
  }
}

/// Passes over the high digits come first for so many keys of 8 bytes whose levels cannot be one launch.
TEST_P(gpu_bucket_sort_test, SortsMoreThanBucketsOfTwoLevelsHold) {
  if (!GetParam().blocks_cannot_meet) GTEST_SKIP() << "all levels are one launch";
  sorter s = sorter_of();
  for (const char* const shape : {"uniform", "entropy:2", "entropy:8", "zipf:1", "special-floats", "zero"}) {
    for (const key_type type : {key_type::u64, key_type::i64, key_type::f64}) {
      for (const operation& op : {operation{kind::keys, 0}, operation{kind::pairs, 4}, operation{kind::pairs, 8},
                                  operation{kind::pairs, 16}, operation{kind::argsort, 8}}) {
        ASSERT_NO_FATAL_FAILURE(expect_sorted(s, type, 2'500'011, shape, op, type == key_type::i64));
      }
    }
  }
}

/// The keys have three high halves only, so that buckets are as large as is asked for, and so many low ones.
TEST_P(gpu_bucket_sort_test, CountsBucketsOfAllSizes) {
  sorter s = sorter_of();
  for (const std::uint64_t bucket :
       {1U, 2U, 33U, 4'607U, 4'608U, 4'609U, 5'461U, 5'462U, 9'216U, 9'217U, 61'000U, 131'072U, 131'073U, 400'000U}) {
    for (const std::uint64_t num_values : {1U, 2U, 255U, 300U, 1'500U, 20'000U, 65'536U}) {
      const std::uint64_t n = 3 * bucket + 1;
      std::vector<std::uint32_t> keys(n);
      for (std::uint64_t i = 0; i < n; ++i) {
        constexpr std::uint32_t high_halves[] = {0, 0x8001'0000, 0xffff'0000};
        const std::uint64_t x = (i + 1) * 0x9e3779b97f4a7c15ULL;
        const std::uint64_t low = (x ^ x >> 29) * 0xbf58476d1ce4e5b9ULL >> 32;
        keys[i] = high_halves[i % 3] | static_cast<std::uint32_t>(low % num_values * (65'535 / num_values));
      }
      std::vector<std::uint32_t> order(n);
      std::iota(order.begin(), order.end(), 0U);
      std::vector<std::uint32_t> expected_order = order;
      std::ranges::stable_sort(expected_order, [&](std::uint32_t a, std::uint32_t b) { return keys[a] < keys[b]; });
      std::vector<std::uint32_t> expected(n);
      for (std::uint64_t i = 0; i < n; ++i) expected[i] = keys[expected_order[i]];
      const auto what = std::to_string(num_values) + " values in buckets of " + std::to_string(bucket);
      std::vector<std::uint32_t> alone = keys;
      s.sort(alone);
      ASSERT_TRUE(alone == expected) << what;
      std::vector<std::uint32_t> sorted = keys;
      s.sort_pairs(sorted, order);
      ASSERT_TRUE(sorted == expected && order == expected_order) << what;
      std::vector<std::uint64_t> wide(n);
      std::iota(wide.begin(), wide.end(), std::uint64_t{0});
      s.sort_pairs(keys, wide);
      ASSERT_TRUE(std::ranges::equal(wide, expected_order)) << what;
    }
  }
}

/// Bins are small, and every sixteenth key is there twice.
TEST_P(gpu_bucket_sort_test, KeepsTheOrderOfFewTies) {
  sorter s = sorter_of();
  for (const std::uint64_t n : {20'011U, 600'011U, 2'500'011U}) {
    std::vector<std::uint64_t> keys(n);
    for (std::uint64_t i = 0; i < n; ++i) {
      const std::uint64_t x = (i % (n - n / 16) + 1) * 0x9e3779b97f4a7c15ULL;
      keys[i] = (x ^ x >> 29) * 0xbf58476d1ce4e5b9ULL;
    }
    for (const direction d : {direction::ascending, direction::descending}) {
      std::vector<std::uint64_t> order(n);
      std::iota(order.begin(), order.end(), std::uint64_t{0});
      std::vector<std::uint64_t> expected = order;
      std::ranges::stable_sort(expected, [&](std::uint64_t a, std::uint64_t b) {
        return d == direction::ascending ? keys[a] < keys[b] : keys[b] < keys[a];
      });
      std::vector<std::uint64_t> sorted = keys;
      s.sort_pairs(sorted, order, d);
      EXPECT_EQ(order, expected) << n;
      for (std::uint64_t i = 0; i < n; ++i) ASSERT_EQ(sorted[i], keys[expected[i]]) << i;
    }
  }
}

TEST_P(gpu_bucket_sort_test, GoesTheWayThatIsAskedFor) {
  constexpr std::uint64_t n = 300'000;
  sorter s = sorter_of();
  const bool by_look = GetParam().buckets == gpu_buckets::where_even;
  const auto expect_passes = [&](const char* shape, bool by_buckets) {
    ASSERT_NO_FATAL_FAILURE(expect_sorted(s, key_type::u64, n, shape, {kind::keys, 0}, false));
    if (by_buckets) {
      EXPECT_LT(report.num_passes, num_lsd_passes) << shape;
    } else {
      EXPECT_EQ(report.num_passes, num_lsd_passes) << shape;
    }
    // So few keys of the AND of two words have little in common.
    if (std::string_view(shape) == "entropy:2") return;
    for (const operation& op : {operation{kind::keys, 0}, operation{kind::pairs, 8}}) {
      ASSERT_NO_FATAL_FAILURE(expect_sorted(s, key_type::u32, n, shape, op, false));
      const bool is_counted = by_buckets && !goes_by_spread();
      EXPECT_EQ(report.num_passes, is_counted ? num_counting_passes : num_lsd_passes / 2) << shape;
    }
  };
  const bool by_spread = goes_by_spread();
  expect_passes("uniform", by_look || by_spread || GetParam().buckets == gpu_buckets::always);
  for (const char* const shape : {"zipf:1", "entropy:2", "entropy:4", "entropy:8"}) {
    expect_passes(shape, by_spread || GetParam().buckets == gpu_buckets::always);
  }
  ASSERT_NO_FATAL_FAILURE(expect_sorted(s, key_type::u64, n, "sorted", {kind::keys, 0}, false));
  EXPECT_EQ(report.num_passes, 0U);
}

/// Floats of [0, 1), of both signs and many exponents, and numbers of few bits crowd in few of the buckets of their
/// highest bits, and are spread over as many.
TEST_P(gpu_bucket_sort_test, SpreadsKeysThatCrowd) {
  constexpr std::uint64_t n = 400'011;
  constexpr unsigned num_spread_passes = 3;  // with the finish
  sorter s = sorter_of();
  const bool is_spread = GetParam().buckets == gpu_buckets::where_even || goes_by_spread();
  const auto expect_sorted_by_spread = [&](const auto& keys, const char* what) {
    std::vector<std::uint64_t> expected(n);
    std::iota(expected.begin(), expected.end(), std::uint64_t{0});
    std::ranges::stable_sort(expected, [&](std::uint64_t a, std::uint64_t b) { return keys[a] > keys[b]; });
    auto sorted = keys;
    s.sort(sorted, direction::descending);
    for (std::uint64_t i = 0; i < n; ++i) ASSERT_EQ(sorted[i], keys[expected[i]]) << what << ' ' << i;
    if (is_spread) {
      EXPECT_EQ(report.num_passes, num_spread_passes) << what;
    }
    auto moved = keys;
    std::vector<std::uint64_t> order(n);
    std::iota(order.begin(), order.end(), std::uint64_t{0});
    s.sort_pairs(moved, order, direction::descending);
    ASSERT_TRUE(moved == sorted && order == expected) << what;
    s.argsort(keys, order, direction::descending);
    ASSERT_TRUE(order == expected) << what;
    if (is_spread) {
      EXPECT_EQ(report.num_passes, num_spread_passes) << what;
    }
  };
  const auto unit = [](std::uint64_t i) { return static_cast<double>(random_word(i) >> 11) * 0x1p-53; };
  std::vector<double> floats(n);
  for (std::uint64_t i = 0; i < n; ++i) floats[i] = unit(i);
  ASSERT_NO_FATAL_FAILURE(expect_sorted_by_spread(floats, "of [0, 1)"));
  for (std::uint64_t i = 0; i < n; ++i) floats[i] = std::sqrt(-2 * std::log(1 - unit(i))) * std::cos(7 * unit(n + i));
  ASSERT_NO_FATAL_FAILURE(expect_sorted_by_spread(floats, "normal"));
  for (std::uint64_t i = 0; i < n; ++i) floats[i] = 1e6 + unit(i);
  ASSERT_NO_FATAL_FAILURE(expect_sorted_by_spread(floats, "from a million on"));
  std::vector<std::uint64_t> numbers(n);
  for (const unsigned bits : {33U, 40U, 63U}) {
    for (std::uint64_t i = 0; i < n; ++i) numbers[i] = (std::uint64_t{3} << 40) + (random_word(i) >> (64 - bits));
    ASSERT_NO_FATAL_FAILURE(expect_sorted_by_spread(numbers, "numbers"));
  }
}

/// A sample misses most of the few keys that are far from the others, and finds one of them now and then.
TEST_P(gpu_bucket_sort_test, SortsKeysBesideTheSample) {
  constexpr std::uint64_t n = 600'011;
  sorter s = sorter_of();
  for (const std::uint64_t far : {1U, 30U, 3'000U}) {
    for (const unsigned bits : {1U, 36U, 50U, 64U}) {
      std::vector<std::int64_t> keys(n);
      for (std::uint64_t i = 0; i < n; ++i) {
        const bool is_far = random_word(n + i) % n < far;
        keys[i] = static_cast<std::int64_t>(random_word(i) >> (is_far ? 0 : 64 - bits));
      }
      // The ends of the range are what tiles are filled with.
      keys[n / 2] = std::numeric_limits<std::int64_t>::min();
      keys[n / 3] = std::numeric_limits<std::int64_t>::max();
      for (const direction d : {direction::ascending, direction::descending}) {
        std::vector<std::uint32_t> expected(n);
        std::iota(expected.begin(), expected.end(), 0U);
        std::ranges::stable_sort(expected, [&](std::uint32_t a, std::uint32_t b) {
          return d == direction::ascending ? keys[a] < keys[b] : keys[b] < keys[a];
        });
        std::vector<std::int64_t> alone = keys;
        s.sort(alone, d);
        if (goes_by_spread()) {
          EXPECT_EQ(report.num_passes, 3U) << far << ' ' << bits;
        }
        for (std::uint64_t i = 0; i < n; ++i) ASSERT_EQ(alone[i], keys[expected[i]]) << far << ' ' << bits << ' ' << i;
        std::vector<std::int64_t> sorted = keys;
        std::vector<std::uint64_t> order(n);
        std::iota(order.begin(), order.end(), std::uint64_t{0});
        s.sort_pairs(sorted, order, d);
        ASSERT_TRUE(sorted == alone && std::ranges::equal(order, expected)) << far << ' ' << bits;
      }
    }
  }
}

std::string name_of(const testing::TestParamInfo<bucket_case>& info) {
  return buckets_name(info.param.buckets) + (info.param.blocks_cannot_meet ? "_level_by_level" : "");
}
INSTANTIATE_TEST_SUITE_P(All, gpu_bucket_sort_test,
                         testing::Values(bucket_case{gpu_buckets::by_size}, bucket_case{gpu_buckets::where_even},
                                         bucket_case{gpu_buckets::always}, bucket_case{gpu_buckets::never},
                                         bucket_case{gpu_buckets::by_spread}, bucket_case{gpu_buckets::by_wide_spread},
                                         bucket_case{gpu_buckets::always, true},
                                         bucket_case{gpu_buckets::by_spread, true}),
                         name_of);

/// The buckets of RMG sort are segments, which agree above some of their bits. Small neighbours may be fused.
class gpu_segments_test : public gpu_sort_test, public testing::WithParamInterface<gpu_buckets> {
 protected:
  enum class neighbours : std::uint8_t { fused, apart };

  /// Returns a sorter of two ranks on one GPU that fills `report`.
  sorter sorter_of(gpu_buckets buckets, unsigned radix_bits, neighbours small) {
    hooked_options options;
    options.devices = "gpu:0,0";
    options.algorithm = algorithm::rmg;
    options.report = &report;
    options.world = {.radix_bits = radix_bits, .buckets = buckets};
    if (small == neighbours::apart) options.world.fuse_threshold = 0;
    return make_sorter(options);
  }
  sorter sorter_of(unsigned radix_bits, neighbours small) { return sorter_of(GetParam(), radix_bits, small); }

  /// Sorts keys of two segments, alone and with their positions, which are values of Value. `low_bits_of` makes of a
  /// random number the bits of a key below its first digit.
  template <class Key, class Value>
  static void expect_two_segments_sorted(sorter& s, std::uint64_t n, std::uint64_t (*low_bits_of)(std::uint64_t)) {
    std::vector<Key> keys(n);
    for (std::uint64_t i = 0; i < n; ++i) {
      std::uint64_t x = (i + 1) * 0x9e3779b97f4a7c15ULL;
      x = (x ^ x >> 29) * 0xbf58476d1ce4e5b9ULL;
      keys[i] = static_cast<Key>(low_bits_of(x ^ x >> 32) | i % 2 << (8 * sizeof(Key) - 1));
    }
    std::vector<Value> order(n);
    std::iota(order.begin(), order.end(), Value{0});
    std::vector<Value> expected_order = order;
    std::ranges::stable_sort(expected_order, [&](Value a, Value b) { return keys[a] < keys[b]; });
    std::vector<Key> alone = keys;
    s.sort(alone);
    for (std::uint64_t i = 0; i < n; ++i) ASSERT_EQ(alone[i], keys[expected_order[i]]) << i;
    s.sort_pairs(keys, order);
    ASSERT_TRUE(keys == alone && order == expected_order);
  }

  /// Many segments are looked at by several launches, whose answers lie in the same memory one after the other. What
  /// the report says of the bytes that local sorts have moved tells which way the segments went.
  void expect_the_way_of_its_own_keys(key_type type, const operation& op) {
    constexpr std::uint64_t n = 300'017;
    sorter s = sorter_of(GetParam(), 8, neighbours::apart);
    sorter by_passes = sorter_of(gpu_buckets::never, 8, neighbours::apart);
    const auto bytes_moved = [&](sorter& sorting, const char* shape) -> double {
      expect_sorted(sorting, type, n, shape, op, false);
      const auto local = std::ranges::find(report.phases, "local sort", &phase_report::name);
      return local == report.phases.end() ? 0 : static_cast<double>(local->bytes_moved);
    };
    for (const char* const shape : {"uniform", "entropy:4", "uniform"}) {
      const double moved = bytes_moved(s, shape);
      ASSERT_GT(moved, 0);
      const bool is_even = std::string_view(shape) == "uniform";
      if (GetParam() == gpu_buckets::by_size) continue;  // so few keys are sorted by blocks
      const double part = moved / bytes_moved(by_passes, shape);
      if (is_even && GetParam() != gpu_buckets::never) {
        EXPECT_LT(part, 0.8) << shape;
      } else if (GetParam() != gpu_buckets::always) {
        EXPECT_GT(part, 0.9) << shape;
      }
    }
  }
};

/// Segments of keys of 4 bytes are counted behind one pass, or go by passes.
class gpu_counted_segments_test : public gpu_segments_test {};

TEST_P(gpu_counted_segments_test, SortsAllTypesAndWidths) {
  for (const unsigned radix_bits : {4U, 6U, 8U}) {
    sorter s = sorter_of(radix_bits, neighbours::apart);
    for (const key_type type : {key_type::u32, key_type::i32, key_type::f32}) {
      for (const char* const shape :
           {"uniform", "zipf:1", "entropy:2", "entropy:16", "special-floats", "nearly-sorted", "reverse", "zero"}) {
        for (const operation& op : {operation{kind::keys, 0}, operation{kind::pairs, 4}, operation{kind::pairs, 8},
                                    operation{kind::pairs, 16}}) {
          for (const std::uint64_t n : {1'000U, 300'017U}) {
            ASSERT_NO_FATAL_FAILURE(expect_sorted(s, type, n, shape, op, type == key_type::i32));
          }
        }
      }
    }
  }
}

/// A few large segments: many keys of few values overrun counters of any width.
TEST_P(gpu_counted_segments_test, SortsLargeSegments) {
  sorter s = sorter_of(8, neighbours::fused);
  constexpr std::uint64_t n = 9'000'011;
  for (const std::uint64_t num_values : {3U, 1'000U, 1U << 20, 1U << 30}) {
    std::vector<std::uint32_t> keys(n);
    for (std::uint64_t i = 0; i < n; ++i) {
      const std::uint64_t x = (i + 1) * 0x9e3779b97f4a7c15ULL;
      const std::uint64_t random = (x ^ x >> 29) * 0xbf58476d1ce4e5b9ULL >> 32;
      keys[i] = static_cast<std::uint32_t>(random % num_values * 0x9e3779b9U) >> 6 | static_cast<std::uint32_t>(i % 2)
                                                                                         << 31;
    }
    std::vector<std::uint32_t> expected = keys;
    std::ranges::sort(expected);
    s.sort(keys);
    ASSERT_TRUE(keys == expected) << num_values << " values";
  }
}

/// Segments of so many pairs that their buckets, by 8 bits or by 9, are for blocks, or for none. Their keys are spread
/// evenly, crowd at one end, differ in their low bits alone, or are few.
TEST_P(gpu_counted_segments_test, SortsLargeSegmentsOfPairs) {
  sorter s = sorter_of(8, neighbours::fused);
  const auto even = [](std::uint64_t x) { return x >> 40; };
  const auto crowded = [](std::uint64_t x) { return (x >> 52) * (x >> 52); };
  const auto low_bits = [](std::uint64_t x) { return x >> 50; };
  const auto few = [](std::uint64_t x) { return x % 1000 << 10; };
  for (const std::uint64_t n : {2'000'011U, 4'000'011U, 8'000'011U, 10'000'011U}) {
    int number = 0;
    for (std::uint64_t (*const spread)(std::uint64_t) : {+even, +crowded, +low_bits, +few}) {
      SCOPED_TRACE(std::to_string(n) + " keys, spread " + std::to_string(number++));
      ASSERT_NO_FATAL_FAILURE((expect_two_segments_sorted<std::uint32_t, std::uint32_t>(s, n, spread)));
      if (n < 8'000'000) {
        ASSERT_NO_FATAL_FAILURE((expect_two_segments_sorted<std::uint32_t, std::uint64_t>(s, n, spread)));
      }
    }
  }
}

/// What 16 bits do not count takes a digit of 9 bits, however few the pairs are. Keys alone of so many bits go by
/// passes.
TEST_P(gpu_counted_segments_test, SortsPairsThatDifferIn25Bits) {
  sorter s = sorter_of(7, neighbours::fused);
  const auto even = [](std::uint64_t x) { return x >> 39; };
  for (const std::uint64_t n : {30'011U, 2'000'011U, 3'000'011U}) {
    ASSERT_NO_FATAL_FAILURE((expect_two_segments_sorted<std::uint32_t, std::uint32_t>(s, n, +even))) << n;
    const auto local = std::ranges::find(report.phases, "local sort", &phase_report::name);
    ASSERT_NE(local, report.phases.end());
    if (GetParam() == gpu_buckets::by_size) continue;
    // A pass and a count move 36 bytes a pair, and four passes 68.
    EXPECT_EQ(local->bytes_moved < n * 52, GetParam() != gpu_buckets::never) << local->bytes_moved << " for " << n;
  }
}

TEST_P(gpu_counted_segments_test, GoesTheWayOfItsOwnKeys) {
  ASSERT_NO_FATAL_FAILURE(expect_the_way_of_its_own_keys(key_type::u32, {kind::keys, 0}));
  ASSERT_NO_FATAL_FAILURE(expect_the_way_of_its_own_keys(key_type::u32, {kind::pairs, 4}));
}

/// Segments of keys of 8 bytes go by buckets or by passes.
class gpu_bucket_segments_test : public gpu_segments_test {};

TEST_P(gpu_bucket_segments_test, SortsAllTypesAndWidths) {
  for (const unsigned radix_bits : {4U, 6U, 8U}) {
    sorter s = sorter_of(radix_bits, neighbours::apart);
    for (const key_type type : {key_type::u64, key_type::i64, key_type::f64}) {
      for (const char* const shape :
           {"uniform", "zipf:1", "entropy:2", "entropy:16", "special-floats", "nearly-sorted", "reverse", "zero"}) {
        for (const operation& op : {operation{kind::keys, 0}, operation{kind::pairs, 4}, operation{kind::pairs, 8},
                                    operation{kind::pairs, 16}}) {
          for (const std::uint64_t n : {1'000U, 300'017U}) {
            ASSERT_NO_FATAL_FAILURE(expect_sorted(s, type, n, shape, op, type == key_type::i64));
          }
        }
      }
    }
  }
}

/// Two large segments of so many keys that one digit of 8 bits or of more leaves small buckets, or that two digits do.
/// Their keys are spread evenly, crowd at one end, differ in their low bits alone, or are few.
TEST_P(gpu_bucket_segments_test, SortsLargeSegments) {
  sorter s = sorter_of(8, neighbours::fused);
  const auto even = [](std::uint64_t x) { return x >> 8; };
  const auto crowded = [](std::uint64_t x) { return (x >> 36) * (x >> 36); };
  const auto low_bits = [](std::uint64_t x) { return x >> 47; };
  const auto few = [](std::uint64_t x) { return x % 1000 << 33; };
  for (const std::uint64_t n : {3'000'011U, 6'000'011U, 10'000'011U}) {
    int number = 0;
    for (std::uint64_t (*const spread)(std::uint64_t) : {+even, +crowded, +low_bits, +few}) {
      SCOPED_TRACE(std::to_string(n) + " keys, spread " + std::to_string(number++));
      ASSERT_NO_FATAL_FAILURE((expect_two_segments_sorted<std::uint64_t, std::uint64_t>(s, n, spread)));
    }
  }
}

TEST_P(gpu_bucket_segments_test, GoesTheWayOfItsOwnKeys) {
  ASSERT_NO_FATAL_FAILURE(expect_the_way_of_its_own_keys(key_type::u64, {kind::keys, 0}));
}

std::string name_of_buckets(const testing::TestParamInfo<gpu_buckets>& info) { return buckets_name(info.param); }
INSTANTIATE_TEST_SUITE_P(All, gpu_counted_segments_test,
                         testing::Values(gpu_buckets::by_size, gpu_buckets::where_even, gpu_buckets::always,
                                         gpu_buckets::never),
                         name_of_buckets);
INSTANTIATE_TEST_SUITE_P(All, gpu_bucket_segments_test,
                         testing::Values(gpu_buckets::by_size, gpu_buckets::where_even, gpu_buckets::always,
                                         gpu_buckets::never),
                         name_of_buckets);

class gpu_bucket_choice_test : public gpu_test {};

/// Large keys are looked at without being told to. Keys of few values are spread evenly over the buckets, but not over
/// their bins. Who limits the memory has none for buckets.
TEST_F(gpu_bucket_choice_test, IsMadeForLargeInputs) {
  constexpr std::uint64_t n = device::cuda::least_bucket_sort_bytes / 8;
  const auto passes_of = [&](std::uint64_t num_values, const sort_options& given) {
    std::vector<std::uint64_t> keys(n);
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < n; ++i) {
      std::uint64_t x = (i * 0x9e3779b97f4a7c15ULL >> 7) % num_values + 1;
      x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
      x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
      keys[i] = x ^ x >> 31;
      sum += keys[i];
    }
    sort_report report;
    sort_options options = given;
    options.report = &report;
    sort(keys, options);
    EXPECT_TRUE(std::ranges::is_sorted(keys));
    for (const std::uint64_t key : keys) sum -= key;
    EXPECT_EQ(sum, 0U);
    return report.num_passes;
  };
  sort_options options{.devices = "gpu:0", .algorithm = algorithm::single};
  EXPECT_LT(passes_of(~std::uint64_t{0}, options), num_lsd_passes);
  EXPECT_EQ(passes_of(1'000'000, options), num_lsd_passes);
  options.memory_limit_bytes = std::uint64_t{1} << 40;
  EXPECT_EQ(passes_of(~std::uint64_t{0}, options), num_lsd_passes);
}

/// Many keys of 4 bytes are looked at, too.
TEST_F(gpu_bucket_choice_test, IsMadeForManyKeysOf4Bytes) {
  constexpr std::uint64_t n = device::cuda::least_counted_records;
  std::vector<std::uint32_t> keys(n);
  const auto passes_of = [&](std::uint32_t num_values) {
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < n; ++i) {
      const std::uint64_t x = (i + 1) * 0x9e3779b97f4a7c15ULL;
      const auto random = static_cast<std::uint32_t>((x ^ x >> 29) * 0xbf58476d1ce4e5b9ULL >> 32);
      keys[i] = num_values == 0 ? random : random % num_values * 0x9e3779b9U;
      sum += keys[i];
    }
    sort_report report;
    sort(keys, {.devices = "gpu:0", .algorithm = algorithm::single, .report = &report});
    EXPECT_TRUE(std::ranges::is_sorted(keys));
    for (const std::uint32_t key : keys) sum -= key;
    EXPECT_EQ(sum, 0U);
    return report.num_passes;
  };
  EXPECT_EQ(passes_of(0), num_counting_passes);
  EXPECT_EQ(passes_of(100'000), num_lsd_passes / 2);
}

}  // namespace
}  // namespace spansort::test
