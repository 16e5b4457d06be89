// SPDX-License-Identifier: Apache-2.0
// Inputs in order but for a few keys, against a stable sort: keys that are moved away, all to one side, in heaps, among
// ties and zeros of two signs, at the ends; in one part and in many, so that much crosses their bounds.
#include "device/host/misplaced_keys.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "device/host/host_device.hpp"
#include "device/host/shared_order.hpp"
#include "device/host/shared_pairs.hpp"
#include "device/host/shared_sort.hpp"
#include "device/host/small_pairs.hpp"
#include "device/host/small_sort.hpp"
#include "spansort/errors.hpp"
#include "support/environment.hpp"

namespace spansort::device::host {
namespace {

/// What is misplaced: any keys, only low or only high ones, neighbours exchanged, a few in a row, the first and the
/// last keys. Keys of `ties` are few, and zeros of both signs where they are floats.
enum class kind : unsigned { any, low, high, exchanged, in_rows, ends, ties };
constexpr kind all_kinds[] = {kind::any, kind::low, kind::high, kind::exchanged, kind::in_rows, kind::ends, kind::ties};

/// Returns keys of which about `num_misplaced` do not lie in order.
template <class K>
std::vector<K> make_nearly_ordered(const keys::codec_of<K>& codec, std::uint64_t num_keys, std::uint64_t num_misplaced,
                                   kind what, std::mt19937_64& random) {
  const auto any_key = [&] {
    if (what == kind::ties) return static_cast<K>(random() % 2 << (sizeof(K) * 8 - 1) | random() % 5);
    return codec.decode(static_cast<K>(random() >> 3));  // none is NaN
  };
  const auto is_below = [&](K a, K b) { return codec.encode(a) < codec.encode(b); };
  std::vector<K> keys(num_keys);
  for (K& key : keys) key = any_key();
  std::stable_sort(keys.begin(), keys.end(), is_below);
  const K lowest = keys.front();
  const K highest = keys.back();
  for (std::uint64_t m = 0; m < num_misplaced; ++m) {
    std::uint64_t at = random() % num_keys;
    switch (what) {
      case kind::low: keys[at] = random() % 2 == 0 ? lowest : keys[random() % (at / 8 + 1)]; break;
      case kind::high: keys[at] = random() % 2 == 0 ? highest : keys[num_keys - 1 - random() % 9]; break;
      case kind::exchanged: std::swap(keys[at], keys[at + 1 == num_keys ? 0 : at + 1]); break;
      case kind::in_rows:
        for (unsigned i = 0; i < 6 && at < num_keys; ++i, ++at) keys[at] = any_key();
        m += 5;
        break;
      case kind::ends: keys[m % 2 == 0 ? m / 2 : num_keys - 1 - m / 2] = any_key(); break;
      default: keys[at] = any_key();
    }
  }
  return keys;
}

template <class K>
std::vector<std::uint32_t> stable_order(const keys::codec_of<K>& codec, const std::vector<K>& keys) {
  std::vector<std::uint32_t> order(keys.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t left, std::uint32_t right) {
    return codec.encode(keys[left]) < codec.encode(keys[right]);
  });
  return order;
}

/// A stable sort of misplaced keys for the sorter.
template <class K>
auto plain_sort(const keys::codec_of<K>& codec) {
  return [&codec]<class Records>(const Records& misplaced, const Records&, std::uint64_t count) {
    const std::vector<K> keys(misplaced.keys, misplaced.keys + count);
    const std::vector<std::uint32_t> order = stable_order(codec, keys);
    for (std::uint64_t i = 0; i < count; ++i) {
      misplaced.keys[i] = keys[order[i]];
      if constexpr (!std::is_same_v<Records, split_records<K, no_value>>) {
        misplaced.values[i].word = order[i];  // those that came were 0, 1 and so on
      }
    }
  };
}

/// Sorts one input in so many parts, in place and by its order. Returns whether it counted as nearly ordered.
template <class K, class V>
bool sorts_around(const keys::codec_of<K>& codec, const std::vector<K>& given, std::uint64_t num_parts) {
  const std::uint64_t n = given.size();
  const std::vector<std::uint32_t> order = stable_order(codec, given);
  std::vector<K> keys = given;
  std::vector<V> values(value_bytes_of<V> == 0 ? 0 : n);
  if constexpr (value_bytes_of<V> != 0) {
    for (std::uint64_t i = 0; i < n; ++i) std::memcpy(static_cast<void*>(&values[i]), &i, 4);
  }
  misplaced_sorter<K, V, in_parts_alone> sorter(codec, keys.data(), n, {num_parts});
  if (!sorter.find()) {
    EXPECT_EQ(keys, given);
    return false;
  }
  EXPECT_LE(sorter.count(), (most_misplaced<K, V>(n)));
  sorter.sort_records({keys.data(), value_bytes_of<V> == 0 ? nullptr : values.data()}, plain_sort(codec));
  for (std::uint64_t i = 0; i < n; ++i) {
    EXPECT_EQ(keys[i], given[order[i]]) << i;
    if constexpr (value_bytes_of<V> != 0) {
      std::uint32_t value = 0;
      std::memcpy(&value, &values[i], 4);
      EXPECT_EQ(value, order[i]) << i;
    }
    if (testing::Test::HasFailure()) return true;
  }
  if constexpr (value_bytes_of<V> == 4 || value_bytes_of<V> == 8) {
    std::vector<V> indices(n);
    misplaced_sorter<K, V, in_parts_alone> ordering(codec, given.data(), n, {num_parts});
    EXPECT_TRUE(ordering.find());
    ordering.write_order(indices.data(), plain_sort(codec));
    for (std::uint64_t i = 0; i < n; ++i) {
      EXPECT_EQ(indices[i].word, order[i]) << i;
      if (testing::Test::HasFailure()) return true;
    }
  }
  return true;
}

template <class K, class V>
void expect_all_kinds(key_type type, keys::tie_rule ties) {
  std::mt19937_64 random(test::base_seed());
  for (const std::uint64_t n : {1024U, 5003U, 20'000U}) {
    const std::uint64_t few = most_misplaced<K, V>(n) / 4;
    for (const kind what : all_kinds) {
      for (const std::uint64_t num_parts : {1U, 2U, 5U, 16U}) {
        const bool descends = random() % 2 == 0;
        const auto codec = keys::key_codec{type, descends, ties}.of<K>();
        SCOPED_TRACE(std::string(name(type)) + ", " + std::to_string(n) + " keys, kind " +
                     std::to_string(static_cast<unsigned>(what)) + ", " + std::to_string(num_parts) + " parts");
        const bool were_few = sorts_around<K, V>(codec, make_nearly_ordered(codec, n, few, what, random), num_parts);
        // Each part has its share, which a few rows exceed, and what lies at both ends.
        if (n / num_parts >= 1000 && what != kind::ends && what != kind::in_rows) {
          EXPECT_TRUE(were_few);
        }
        if (testing::Test::HasFailure()) return;
      }
    }
  }
}

TEST(MisplacedKeys, AreSortedIntoTheOthers) {
  expect_all_kinds<std::uint32_t, no_value>(key_type::u32, keys::tie_rule::by_bits);
  expect_all_kinds<std::uint32_t, no_value>(key_type::f32, keys::tie_rule::by_bits);
  expect_all_kinds<std::uint64_t, no_value>(key_type::i64, keys::tie_rule::by_bits);
  expect_all_kinds<std::uint64_t, no_value>(key_type::f64, keys::tie_rule::by_bits);
}

TEST(MisplacedKeys, KeepTheOrderOfTies) {
  expect_all_kinds<std::uint32_t, value4>(key_type::i32, keys::tie_rule::by_input_order);
  expect_all_kinds<std::uint32_t, value8>(key_type::f32, keys::tie_rule::by_input_order);
  expect_all_kinds<std::uint64_t, value8>(key_type::u64, keys::tie_rule::by_input_order);
  expect_all_kinds<std::uint64_t, value16>(key_type::f64, keys::tie_rule::by_input_order);
}

/// A key that lies alone among others in order is the only one that is removed, whether it is too high or too low.
TEST(MisplacedKeys, AreNotMoreThanHaveToBeRemoved) {
  constexpr std::uint64_t n = 4000;
  const keys::codec_of<std::uint64_t> codec{};
  std::vector<std::uint64_t> keys(n);
  for (std::uint64_t i = 0; i < n; ++i) keys[i] = 10 * i;
  for (std::uint64_t m = 0; m < 40; ++m) keys[50 + 90 * m] = m % 2 == 0 ? 3 : 10 * n + m;
  misplaced_sorter<std::uint64_t, no_value, in_parts_alone> sorter(codec, keys.data(), n, {});
  ASSERT_TRUE(sorter.find());
  EXPECT_EQ(sorter.count(), 40U);
}

/// Keys that all belong far away cross the bounds of parts in greater numbers than there is room for.
TEST(MisplacedKeys, MayAllCrossManyBounds) {
  constexpr std::uint64_t n = 1 << 16;
  const keys::codec_of<std::uint32_t> codec{};
  for (const bool are_low : {false, true}) {
    std::vector<std::uint32_t> keys(n);
    for (std::uint32_t i = 0; i < n; ++i) keys[i] = 1000 + 4 * i;
    for (std::uint32_t i = 40; i < n; i += 100) keys[i] = are_low ? i % 997 : 5 * n + i % 997;
    EXPECT_TRUE((sorts_around<std::uint32_t, no_value>(codec, keys, 64)));
    EXPECT_TRUE((sorts_around<std::uint32_t, value4>(codec, keys, 64)));
  }
}

/// Keys that belong just before those among which they lie cross more than one bound of small parts.
TEST(MisplacedKeys, MayCrossSeveralBounds) {
  constexpr std::uint64_t n = 1 << 18;
  constexpr std::uint64_t num_parts = 1024;
  constexpr std::uint64_t first = n / 2;
  const keys::codec_of<std::uint64_t> codec{};
  for (const bool are_low : {false, true}) {
    std::vector<std::uint64_t> keys(n);
    for (std::uint64_t i = 0; i < n; ++i) keys[i] = 2 * i;
    for (std::uint64_t i = first; i < first + 15'360; i += 38) {
      keys[i] = are_low ? 2 * first - 19 : 2 * (first + 15'370) + 1;
    }
    EXPECT_TRUE((sorts_around<std::uint64_t, no_value>(codec, keys, num_parts)));
    EXPECT_TRUE((sorts_around<std::uint64_t, value4>(codec, keys, num_parts)));
  }
}

/// Long blocks of high keys, and batches that overlap at the bounds of parts, are given up, or joined, in little time.
TEST(MisplacedKeys, MayNotLieInBlocks) {
  constexpr std::uint64_t n = 1 << 17;
  const keys::codec_of<std::uint64_t> codec{};
  std::vector<std::uint64_t> keys(n);
  for (std::uint64_t i = 0; i < n; ++i) keys[i] = 10 * i;
  for (std::uint64_t block = 1; block < 20; ++block) {
    for (std::uint64_t i = 0; i < 100; ++i) keys[block * 6000 + i] = 10 * n + i;
  }
  EXPECT_FALSE((sorts_around<std::uint64_t, no_value>(codec, keys, 2)));
  for (const std::uint64_t overlap : {1U, 8U, 24U, 31U, 60U, 200U}) {
    for (std::uint64_t i = 0; i < n; ++i) keys[i] = 10 * i;
    for (std::uint64_t bound = n / 8; bound < n; bound += n / 8) {
      for (std::uint64_t i = 0; i < overlap; ++i) keys[bound + i] = 10 * (bound - overlap + i) + 5;
    }
    EXPECT_EQ((sorts_around<std::uint64_t, no_value>(codec, keys, 8)), overlap <= 32) << overlap;
  }
}

/// The misplaced keys may be in order but for a few themselves: a thousand are above the next thirty, and five of them
/// below all, around which the others are sorted on the same thread.
TEST(MisplacedKeys, MayLieInOrderThemselves) {
  constexpr std::uint64_t n = 60'000;
  const keys::key_codec codec{key_type::u64, false, keys::tie_rule::by_input_order};
  std::vector<std::uint64_t> given(n);
  for (std::uint64_t i = 0; i < n; ++i) given[i] = 10 * i;
  for (std::uint64_t i = 40; i + 40 < n; i += 50) given[i] = i % 12'000 == 40 ? 7 : 10 * (i + 30) + 5;
  const std::vector<std::uint32_t> order = stable_order(codec.of<std::uint64_t>(), given);
  std::vector<std::uint64_t> keys = given;
  std::vector<std::uint64_t> values(n);
  std::iota(values.begin(), values.end(), std::uint64_t{0});
  misplaced_sorter<std::uint64_t, value8, in_parts_alone> sorter(codec.of<std::uint64_t>(), keys.data(), n, {});
  ASSERT_TRUE(sorter.find());
  EXPECT_GT(sorter.count(), fewest_around_misplaced<std::uint64_t>);
  sort_small_pairs(codec, keys.data(), values.data(), 8, n);
  for (std::uint64_t i = 0; i < n; ++i) {
    ASSERT_EQ(keys[i], given[order[i]]) << i;
    ASSERT_EQ(values[i], order[i]) << i;
  }
}

TEST(MisplacedKeys, AreNotLookedForAmongOthers) {
  std::mt19937_64 random(test::base_seed());
  const keys::codec_of<std::uint32_t> codec{};
  unsigned num_taken = 0;
  unsigned num_seen = 0;
  for (unsigned round = 0; round < 200; ++round) {
    std::vector<std::uint32_t> keys(fewest_around_misplaced<std::uint32_t> + random() % 5000);
    for (std::uint32_t& key : keys) key = static_cast<std::uint32_t>(random());
    num_taken += may_be_nearly_ordered(codec, keys.data(), keys.size()) ? 1 : 0;
    EXPECT_FALSE((sorts_around<std::uint32_t, no_value>(codec, keys, 1 + round % 5)));
    std::ranges::sort(keys);
    for (unsigned i = 0; i < keys.size() / 100; ++i) {
      keys[random() % keys.size()] = static_cast<std::uint32_t>(random());
    }
    num_seen += may_be_nearly_ordered(codec, keys.data(), keys.size()) ? 1 : 0;
  }
  EXPECT_LE(num_taken, 1U);
  EXPECT_GE(num_seen, 195U);  // one of some thousand has its misplaced keys where samples are
  const std::vector<std::uint32_t> few(fewest_around_misplaced<std::uint32_t> - 1);
  EXPECT_FALSE(may_be_nearly_ordered(codec, few.data(), few.size()));
}

/// Sorts nearly ordered keys, pairs and orders by all who look for misplaced keys.
template <class K>
void expect_sorts(key_type type, std::uint64_t num_keys, unsigned num_threads, kind what, std::mt19937_64& random) {
  SCOPED_TRACE(std::string(name(type)) + ", " + std::to_string(num_keys) + " keys, kind " +
               std::to_string(static_cast<unsigned>(what)) + ", " + std::to_string(num_threads) + " threads");
  const bool descends = random() % 2 == 0;
  const keys::key_codec stable{type, descends, keys::tie_rule::by_input_order};
  const keys::key_codec by_bits{type, descends, keys::tie_rule::by_bits};
  const std::vector<K> given = make_nearly_ordered(stable.of<K>(), num_keys, num_keys / 150, what, random);
  const std::vector<std::uint32_t> order = stable_order(stable.of<K>(), given);
  const std::vector<std::uint64_t> expected_values(order.begin(), order.end());
  std::vector<K> expected_keys(num_keys);
  std::vector<K> expected_by_bits(num_keys);
  std::ranges::transform(order, expected_keys.begin(), [&](std::uint32_t i) { return given[i]; });
  std::ranges::transform(stable_order(by_bits.of<K>(), given), expected_by_bits.begin(),
                         [&](std::uint32_t i) { return given[i]; });
  std::vector<std::uint64_t> values(num_keys);
  std::vector<K> keys = given;
  const auto expect_pairs = [&](bool with_keys, const char* what_sort) {
    ASSERT_TRUE(values == expected_values) << what_sort;
    ASSERT_TRUE(!with_keys || keys == expected_keys) << what_sort;
  };
  const auto expect_keys = [&](const char* what_sort) { ASSERT_TRUE(keys == expected_by_bits) << what_sort; };
  const auto renew = [&] {
    keys = given;
    std::iota(values.begin(), values.end(), std::uint64_t{0});
  };
  renew();
  ASSERT_TRUE(sort_shared_pairs(stable, keys.data(), values.data(), 8, num_keys, num_threads));
  ASSERT_NO_FATAL_FAILURE(expect_pairs(true, "shared pair"));
  ASSERT_TRUE(argsort_shared(stable, given.data(), values.data(), 8, num_keys, num_threads));
  ASSERT_NO_FATAL_FAILURE(expect_pairs(false, "shared index"));
  if (has_shared_sort(sizeof(K))) {
    renew();
    sort_shared(by_bits, keys.data(), num_keys, num_threads);
    ASSERT_NO_FATAL_FAILURE(expect_keys("shared key"));
  }
  if (num_keys > most_small_pairs || num_keys * sizeof(K) > most_small_bytes) return;
  renew();
  sort_small_pairs(stable, keys.data(), values.data(), 8, num_keys);
  ASSERT_NO_FATAL_FAILURE(expect_pairs(true, "small pair"));
  argsort_small(stable, given.data(), values.data(), 8, num_keys);
  ASSERT_NO_FATAL_FAILURE(expect_pairs(false, "small index"));
  renew();
  sort_small(by_bits, keys.data(), num_keys);
  expect_keys("small key");
}

TEST(MisplacedKeys, AreFoundByAllWhoLookForThem) {
  std::mt19937_64 random(test::base_seed());
  for (const std::uint64_t num_keys : {1500U, 9000U, 60'000U, 300'001U}) {
    for (const kind what : all_kinds) {
      if (num_keys > most_small_pairs && what != kind::any && what != kind::ties) continue;
      for (const unsigned num_threads : {1U, 2U, 5U}) {
        expect_sorts<std::uint32_t>(key_type::u32, num_keys, num_threads, what, random);
        expect_sorts<std::uint32_t>(key_type::f32, num_keys, num_threads, what, random);
        expect_sorts<std::uint64_t>(key_type::f64, num_keys, num_threads, what, random);
        if (HasFatalFailure()) return;
      }
    }
  }
}

/// A device sorts around misplaced keys where there is memory beside, wherever the result belongs. The bytes that it
/// moves tell: one read, and each record from its place to another.
TEST(MisplacedKeys, AreSortedByADevice) {
  std::mt19937_64 random(test::base_seed());
  const auto device = make_host_device({.num_threads = 3});
  device->prepare();
  const keys::key_codec codec{key_type::i64, false, keys::tie_rule::by_input_order};
  const auto of_width = codec.of<std::uint64_t>();
  constexpr std::uint64_t n = 200'000;
  for (const kind what : all_kinds) {
    if (what == kind::ends) continue;  // these are not few where they lie
    const std::vector<std::uint64_t> given = make_nearly_ordered(of_width, n, n / 150, what, random);
    const std::vector<std::uint32_t> order = stable_order(of_width, given);
    for (const bool result_in_alternate : {false, true}) {
      std::vector<std::uint64_t> keys[2] = {given, std::vector<std::uint64_t>(n)};
      std::vector<std::uint64_t> values[2] = {std::vector<std::uint64_t>(n), std::vector<std::uint64_t>(n)};
      std::iota(values[0].begin(), values[0].end(), std::uint64_t{0});
      local_sort_outcome outcome;
      const auto work = device->make_queue();
      work->local_sort({.shape = {codec, 8},
                        .source = {keys[0].data(), values[0].data()},
                        .alternate = {keys[1].data(), values[1].data()},
                        .result_in_alternate = result_in_alternate,
                        .segments = {{0, n, {0, 64}}},
                        .outcome = &outcome});
      work->synchronize();
      const unsigned place = result_in_alternate ? 1 : 0;
      for (std::uint64_t i = 0; i < n; ++i) {
        ASSERT_EQ(keys[place][i], given[order[i]]) << i;
        ASSERT_EQ(values[place][i], order[i]) << i;
      }
      EXPECT_EQ(outcome.bytes_moved, n * 8 + n * 32 * (result_in_alternate ? 2U : 1U))
          << "kind " << static_cast<unsigned>(what);
    }
  }
}

/// A sort that is to stop leaves what it was given.
TEST(MisplacedKeys, AreLeftWhereTheSortIsToStop) {
  std::mt19937_64 random(test::base_seed());
  const keys::codec_of<std::uint64_t> codec{};
  const std::vector<std::uint64_t> given = make_nearly_ordered(codec, 200'000, 1500, kind::any, random);
  std::vector<std::uint64_t> keys = given;
  std::vector<std::uint64_t> alternate(given.size());
  const auto on = make_host_device({.num_threads = 2});
  on->prepare();
  const auto work = on->make_queue();
  monitor watch;
  watch.stop_requested = true;
  work->set_monitor(&watch);
  work->local_sort({.shape = {{.type = key_type::u64}, 0},
                    .source = {keys.data(), nullptr},
                    .alternate = {alternate.data(), nullptr},
                    .segments = {{0, keys.size(), {0, 64}}}});
  EXPECT_THROW(work->synchronize(), cancelled);
  EXPECT_EQ(keys, given);
}

}  // namespace
}  // namespace spansort::device::host
