// SPDX-License-Identifier: Apache-2.0
// The sort that threads share, on more threads than there may be processors: random keys, keys that crowd, keys that
// repeat, narrow keys, which are counted, and the threads that help with it, which come or do not.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "device/host/parked_threads.hpp"
#include "device/host/shared_few.hpp"
#include "device/host/shared_sort.hpp"
#include "device/host/shared_space.hpp"
#include "device/host/small_sort.hpp"
#include "device/host/vector_sort.hpp"
#include "support/environment.hpp"

namespace spansort::device::host {
namespace {

constexpr unsigned num_kinds = 18;

template <class K>
std::vector<K> make_keys(std::uint64_t num_keys, unsigned kind, std::mt19937_64& random) {
  constexpr K extremes[] = {K{0}, static_cast<K>(~K{0}), static_cast<K>(~K{0} >> 1), static_cast<K>((~K{0} >> 1) + 1)};
  std::vector<K> keys(num_keys);
  for (K& key : keys) {
    key = static_cast<K>(random());
    if (kind == 1) key &= static_cast<K>(random() & random() & random());
    if (kind == 2) key = static_cast<K>(key % 1000 * 0x10001);
    if (kind == 3) key = key % 50 == 0 ? key : K{7};
    if (kind == 4) key = static_cast<K>(key % 100);
    if (kind == 6 || kind == 7) key = static_cast<K>(key % 3 * 1'000'003);
    if (kind == 8) key = key % 3 == 0 ? key : extremes[key / 4 % 4];
  }
  if (kind == 15) {  // where a sample looks, one value holds most of the keys
    for (std::uint64_t i = 0; i < num_keys; ++i) {
      if (i % (num_keys / 7 + 1) < 40) keys[i] = K{77};
    }
    return keys;
  }
  // Half of these keys repeat and become pivots; those of the last kind are the least and the greatest ones.
  if (kind == 16 || kind == 17) {
    for (std::uint64_t i = 0; i < num_keys; ++i) {
      if (i % 2 == 0) keys[i] = kind == 17 ? extremes[keys[i] % 4] : static_cast<K>(~K{0} / 30 * (keys[i] % 30));
    }
    return keys;
  }
  if (kind >= 12) {  // narrow, on negative numbers too, and the last but for one that no sample meets
    for (K& key : keys) key = static_cast<K>(~K{0} - random() % 5000);
    if (kind == 14) keys[num_keys - 1 - num_keys / 3] = 5;
    return keys;
  }
  if (kind == 5 && num_keys > 3) std::sort(keys.begin(), keys.end() - 3);  // a short tail
  if (kind == 7) keys[num_keys - 1] = 5;                                   // the only one that no sample meets
  if (kind >= 9) std::sort(keys.begin(), keys.end());
  if (kind == 10) std::reverse(keys.begin(), keys.end());
  if (kind == 11) std::swap(keys[num_keys / 2], keys[num_keys - 1]);
  return keys;
}

/// Tries the shorter ways beside sort_shared(): those that settle some keys and leave others as they are.
template <class K>
void expect_shorter_ways_sort(const keys::key_codec& codec, const std::vector<K>& given, const std::vector<K>& expected,
                              unsigned num_threads) {
  std::vector<K> keys = given;
  const bool is_settled = settle_shared(codec, keys.data(), keys.size(), num_threads);
  EXPECT_TRUE(keys == (is_settled ? expected : given)) << "settled on " << num_threads << " threads: " << is_settled;
  if (sizeof(K) == 2 && has_vector_sort() && given.size() >= 512) {
    keys = given;
    const bool was_small = settle_small(codec, keys.data(), keys.size(), {});
    EXPECT_TRUE(keys == (was_small ? expected : given)) << "settled by one thread: " << was_small;
    keys = given;
    const bool was_shared = sort_others_shared(codec, keys.data(), keys.size(), num_threads, false);
    EXPECT_TRUE(keys == (was_shared ? expected : given)) << "shared by " << num_threads << " threads: " << was_shared;
  }
  if (sizeof(K) < 4 || !has_vector_sort()) return;
  keys = given;
  const bool was_in_place = sort_in_place_shared(codec, keys.data(), keys.size(), num_threads);
  EXPECT_TRUE(keys == (was_in_place ? expected : given))
      << "in place on " << num_threads << " threads: " << was_in_place;
  for (const bool leaves_repeated : {false, true}) {
    keys = given;
    const left_to_others left{.repeated = leaves_repeated, .runs = !leaves_repeated};
    const bool was_small = settle_small(codec, keys.data(), keys.size(), left);
    EXPECT_TRUE(keys == (was_small ? expected : given)) << "settled by one thread: " << was_small;
    keys = given;
    EXPECT_TRUE(sort_others_shared(codec, keys.data(), keys.size(), num_threads, leaves_repeated));
    EXPECT_TRUE(keys == expected) << "as others, on " << num_threads << " threads";
  }
}

template <class K>
void expect_sorts(key_type type, std::uint64_t num_keys, unsigned num_threads, unsigned kind, std::mt19937_64& random) {
  const keys::key_codec codec{.type = type, .descending = kind % 2 == 1};
  const auto of_width = codec.of<K>();
  std::vector<K> keys = make_keys<K>(num_keys, kind, random);
  const std::vector<K> given = keys;
  std::vector<K> expected = keys;
  std::sort(expected.begin(), expected.end(),
            [&](K left, K right) { return of_width.encode(left) < of_width.encode(right); });
  sort_shared(codec, keys.data(), num_keys, num_threads);
  EXPECT_TRUE(keys == expected) << num_keys << " keys of kind " << kind << " on " << num_threads << " threads, seed "
                                << test::base_seed();
  if (kind % 2 == num_threads % 2) expect_shorter_ways_sort(codec, given, expected, num_threads);
}

/// Returns whether it is the turn of what stands at `place` among `count`: under a sanitizer one at a time has it,
/// otherwise all.
bool has_turn(unsigned turn, unsigned place, unsigned count) {
  return !test::is_small_scale() || turn % count == place;
}

TEST(SharedSort, SortsOnAnyNumberOfThreads) {
  if (!has_shared_sort(4)) GTEST_SKIP() << "vectors of this machine are too narrow";
  std::mt19937_64 random(test::base_seed());
  // Under a sanitizer every fifth kind of keys at a time: each has its turn at some size or other.
  const unsigned kind_step = test::is_small_scale() ? 5 : 1;
  unsigned first_kind = 0;
  unsigned turn = 0;
  for (const unsigned num_threads : {1U, 2U, 3U, 4U, 9U}) {
    for (const std::uint64_t num_keys : {1U, 63U, 1000U, 20'000U, 65'537U, 100'003U, 300'000U}) {
      if (test::is_small_scale() && num_keys > 100'003) continue;
      first_kind = (first_kind + 1) % kind_step;
      ++turn;  // so that every kind meets every type
      for (unsigned kind = first_kind; kind < num_kinds; kind += kind_step) {
        ++turn;
        if (has_turn(turn, 0, 3)) expect_sorts<std::uint32_t>(key_type::u32, num_keys, num_threads, kind, random);
        if (has_turn(turn, 1, 3)) expect_sorts<std::uint32_t>(key_type::f32, num_keys, num_threads, kind, random);
        if (has_turn(turn, 2, 3)) expect_sorts<std::uint64_t>(key_type::i64, num_keys, num_threads, kind, random);
      }
    }
  }
}

/// Sorts keys of a few values of which each half has its own shares, so that no sample tells where they end, and of
/// which some are another one. These leave the keys in any order.
template <class K>
void expect_few_sorted(const shared_space& space, std::uint64_t num_keys, unsigned num_values, unsigned num_others,
                       std::mt19937_64& random) {
  few_values<K> few;
  for (unsigned v = 0; v < num_values; ++v) few.keys[few.count++] = static_cast<K>(3 + v * 4001);
  std::vector<K> keys(num_keys);
  for (std::uint64_t i = 0; i < num_keys; ++i) {
    const std::uint64_t v = i < num_keys / 2 ? random() % (1 + random() % num_values) : random() % num_values;
    keys[i] = few.keys[v];
  }
  for (unsigned i = 0; i < num_others; ++i) keys[random() % num_keys] = static_cast<K>(9);
  std::vector<K> expected = keys;
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ((shared_few_sorter<K>(space, few, keys.data(), num_keys).sort()), num_others == 0);
  if (num_others != 0) std::sort(keys.begin(), keys.end());
  EXPECT_TRUE(keys == expected) << num_keys << " keys of " << num_values << " values and " << num_others
                                << " others on " << space.num_threads() << " threads, seed " << test::base_seed();
}

TEST(SharedSort, KeepsAllKeysWhereAFewValuesAreNotAll) {
  std::mt19937_64 random(test::base_seed());
  static auto* const helpers = new parked_threads;  // which stay until the process ends
  shared_space space(helpers);
  for (const unsigned num_threads : {1U, 3U}) {
    space.prepare(num_threads);
    for (const std::uint64_t num_keys : {1000U, 40'000U, 100'003U}) {
      for (const unsigned num_values : {1U, 2U, 7U, 16U}) {
        for (const unsigned num_others : {0U, 1U, 5U}) {
          expect_few_sorted<std::uint16_t>(space, num_keys, num_values, num_others, random);
          expect_few_sorted<std::uint32_t>(space, num_keys, num_values, num_others, random);
          expect_few_sorted<std::uint64_t>(space, num_keys, num_values, num_others, random);
        }
      }
    }
  }
}

/// Few runs are left to those who merge them with memory beside; whatever else is sorted where it lies.
TEST(SharedSort, LeavesFewRunsToOthers) {
  if (!has_shared_sort(8)) GTEST_SKIP() << "vectors of this machine are too narrow";
  constexpr std::uint64_t num_keys = 60'000;
  std::mt19937_64 random(test::base_seed());
  for (const unsigned num_threads : {1U, 2U}) {
    for (const std::uint64_t num_runs : {std::uint64_t{2}, std::uint64_t{3}, std::uint64_t{40}, num_keys}) {
      std::vector<std::uint64_t> keys(num_keys);
      for (std::uint64_t& key : keys) key = random();
      std::vector<std::uint64_t> expected = keys;
      std::ranges::sort(expected);
      for (std::uint64_t run = 0; run < num_runs; ++run) {
        const auto begin = keys.begin() + static_cast<std::ptrdiff_t>(num_keys * run / num_runs);
        std::sort(begin, keys.begin() + static_cast<std::ptrdiff_t>(num_keys * (run + 1) / num_runs));
      }
      const std::vector<std::uint64_t> given = keys;
      const bool are_few = num_runs < 4;
      EXPECT_EQ(sort_in_place_shared({key_type::u64}, keys.data(), num_keys, num_threads), !are_few) << num_runs;
      EXPECT_TRUE(keys == (are_few ? given : expected)) << num_runs << " runs";
      keys = given;
      EXPECT_FALSE(settle_small({key_type::u64}, keys.data(), num_keys, {.runs = true})) << num_runs;
      EXPECT_TRUE(keys == given) << num_runs << " runs";
      EXPECT_EQ(settle_small({key_type::u64}, keys.data(), num_keys, {}), are_few) << num_runs;
      EXPECT_TRUE(keys == (are_few ? expected : given)) << num_runs << " runs";
    }
  }
}

TEST(SharedSort, CountsNarrowKeys) {
  std::mt19937_64 random(test::base_seed());
  unsigned turn = 0;
  for (const unsigned num_threads : {1U, 5U}) {
    for (const std::uint64_t num_keys : {2U, 256U, 65'537U, 150'001U}) {
      if (test::is_small_scale() && num_keys > 65'537) continue;
      for (unsigned kind = 0; kind < num_kinds; ++kind) {
        ++turn;
        const auto sort = [&]<class K>(K, unsigned place, key_type type) {
          if (has_turn(turn, place, 4)) expect_sorts<K>(type, num_keys, num_threads, kind, random);
        };
        sort(std::uint16_t{}, 0, key_type::u16);
        sort(std::uint16_t{}, 1, key_type::i16);
        sort(std::uint16_t{}, 2, key_type::f16);
        sort(std::uint8_t{}, 3, key_type::i8);
      }
    }
  }
}

/// Keys as vectors compare them: those of 64 bits as signed numbers.
template <class K>
K to_lanes(K encoded) {
  return sizeof(K) == 8 ? static_cast<K>(encoded ^ (K{1} << (sizeof(K) * 8 - 1))) : encoded;
}
template <class K>
bool are_lanes_in_order(K left, K right) {
  return to_lanes(left) < to_lanes(right);
}

/// Expects two parts that hold the keys of the whole, within the bounds that are told, but for equal ones that are in
/// their place. `expected` are the keys as vectors compare them.
template <class K>
void expect_split(const keys::codec_of<K>& codec, std::vector<K>& keys, std::vector<K> expected,
                  const std::pair<vector_part<K>, vector_part<K>>& parts) {
  const auto& [low, high] = parts;
  ASSERT_LE(low.num_keys + high.num_keys, keys.size());
  EXPECT_EQ(low.keys, keys.data());
  EXPECT_EQ(high.keys, keys.data() + (keys.size() - high.num_keys));
  for (const vector_part<K>& part : {low, high}) {
    for (std::uint64_t i = 0; i < part.num_keys; ++i) {
      ASSERT_FALSE(are_lanes_in_order(part.keys[i], part.least) || are_lanes_in_order(part.greatest, part.keys[i]))
          << i;
    }
  }
  for (K* key = low.keys + low.num_keys; key != high.keys; ++key) {
    *key = to_lanes(codec.encode_bits(*key));  // they are decoded already
    EXPECT_EQ(*key, low.keys[low.num_keys]);
    EXPECT_TRUE(low.num_keys == 0 || are_lanes_in_order(low.greatest, *key));
    EXPECT_TRUE(high.num_keys == 0 || are_lanes_in_order(*key, high.least));
  }
  std::sort(keys.begin(), keys.end());
  std::sort(expected.begin(), expected.end());
  EXPECT_TRUE(keys == expected);
}

template <class K>
void expect_splits(const keys::key_codec& key_codec, std::uint64_t num_keys, unsigned kind, std::mt19937_64& random) {
  SCOPED_TRACE(std::to_string(num_keys) + " keys of kind " + std::to_string(kind) + " and type " +
               std::to_string(static_cast<int>(key_codec.type)) + ", seed " + std::to_string(test::base_seed()));
  const keys::codec_of<K> codec = key_codec.of<K>();
  std::vector<K> keys = make_keys<K>(num_keys, kind, random);
  std::vector<K> given = keys;
  const vector_part<K> whole = vector_sort_begin(codec, keys.data(), num_keys);
  const std::vector<K> encoded = keys;
  if (whole.can_be_split()) expect_split(codec, keys, encoded, vector_sort_split(codec, whole));
  expect_split(codec, given, encoded, vector_sort_split_first(codec, given.data(), num_keys));
}

TEST(SharedSort, SplitsInPlace) {
  if (!has_shared_sort(4)) GTEST_SKIP() << "vectors of this machine are too narrow";
  std::mt19937_64 random(test::base_seed());
  constexpr key_type types[2][3] = {{key_type::u32, key_type::i32, key_type::f32},
                                    {key_type::u64, key_type::i64, key_type::f64}};
  std::vector<std::uint64_t> sizes{8192, 20'000};  // which have other samples
  for (std::uint64_t num_keys = 64; num_keys < 900; num_keys += 1 + num_keys / 100) sizes.push_back(num_keys);
  unsigned turn = 0;
  for (const std::uint64_t num_keys : sizes) {
    for (unsigned kind = 0; kind < num_kinds; ++kind, ++turn) {
      const bool descending = turn % 2 == 1;
      expect_splits<std::uint32_t>({.type = types[0][turn % 3], .descending = descending}, num_keys, kind, random);
      expect_splits<std::uint64_t>({.type = types[1][turn % 3], .descending = descending}, num_keys, kind, random);
    }
  }
}

/// Finishes a part that lies between others, which must stay as they are to the last byte.
template <class K>
void expect_finish_between_others(const keys::key_codec& key_codec, std::uint64_t num_keys, unsigned kind,
                                  bool has_depth, std::mt19937_64& random) {
  const keys::codec_of<K> codec = key_codec.of<K>();
  constexpr std::uint64_t num_others = 700;  // more than a network writes
  shared_space space;
  space.prepare(1);
  const std::vector<K> given = make_keys<K>(num_keys, kind, random);
  std::vector<K> all(num_keys + 2 * num_others);
  for (K& key : all) key = static_cast<K>(random());
  std::copy(given.begin(), given.end(), all.begin() + num_others);
  std::vector<K> expected = all;
  std::sort(expected.begin() + num_others, expected.end() - num_others,
            [&](K left, K right) { return codec.encode(left) < codec.encode(right); });
  vector_part<K> part = vector_sort_begin(codec, all.data() + num_others, num_keys);
  if (!has_depth) part.depth = 0;
  vector_sort_finish(codec, part, space.scratch_of<K>(0));
  EXPECT_TRUE(all == expected) << num_keys << " keys of kind " << kind << " and type "
                               << static_cast<int>(key_codec.type) << ", seed " << test::base_seed();
}

TEST(SharedSort, FinishesPartsBetweenOthers) {
  if (!has_shared_sort(4)) GTEST_SKIP() << "vectors of this machine are too narrow";
  std::mt19937_64 random(test::base_seed());
  unsigned turn = 0;
  for (const std::uint64_t num_keys : {1U, 100U, 511U, 700U, 1500U, 5001U, 40'000U, 73'000U}) {
    for (unsigned kind = 0; kind < num_kinds; ++kind, ++turn) {
      const bool descending = turn % 3 == 1;
      const bool has_depth = turn % 2 == 0;
      expect_finish_between_others<std::uint32_t>({turn % 5 < 3 ? key_type::u32 : key_type::f32, descending}, num_keys,
                                                  kind, has_depth, random);
      expect_finish_between_others<std::uint64_t>({turn % 5 < 3 ? key_type::i64 : key_type::f64, descending}, num_keys,
                                                  kind, has_depth, random);
    }
  }
}

struct count_of_threads {
  std::atomic<unsigned> begun = 0;
  std::atomic<bool> is_over = false;
  std::atomic<unsigned> late = 0;  ///< began when it was over

  static void run(void* argument, unsigned number) {
    auto& self = *static_cast<count_of_threads*>(argument);
    if (self.is_over) ++self.late;
    if (number >= 1) ++self.begun;
  }
};

TEST(ParkedThreads, BeginWhileTheyMayAndNoLater) {
  // They stay, like those of the library.
  static auto* const threads = new parked_threads;
  threads->start(4);
  unsigned most = 0;
  // A thread that was late for one round and met the next while it opened began that one twice, in a few of 10,000.
  for (unsigned round = 0; round < 10'000; ++round) {
    count_of_threads counted;
    threads->open({count_of_threads::run, &counted}, 3);  // the fourth sleeps on
    if (round % 100 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    threads->close();
    counted.is_over = true;
    most = std::max(most, counted.begun.load());
    ASSERT_LE(counted.begun, 3U) << "in round " << round;
    ASSERT_EQ(counted.late, 0U) << "in round " << round;
  }
  EXPECT_GE(most, 1U);
}

/// Keys of 16 bits are shared by ranges of values, unless one value is much of them or too many for a thread's room.
TEST(SharedSort, SharesNarrowKeysByRangesOfValues) {
  if (!has_vector_sort()) GTEST_SKIP() << "vectors of this machine are too narrow";
  std::mt19937_64 random(test::base_seed());
  const keys::key_codec codec{key_type::i16, true};
  const auto of_width = codec.of<std::uint16_t>();
  const auto shares = [&](std::vector<std::uint16_t> keys, unsigned num_threads) {
    std::vector<std::uint16_t> expected = keys;
    const bool is_sorted = sort_others_shared(codec, keys.data(), keys.size(), num_threads, false);
    if (is_sorted) {
      std::sort(expected.begin(), expected.end(), [&](std::uint16_t left, std::uint16_t right) {
        return of_width.encode(left) < of_width.encode(right);
      });
    }
    EXPECT_TRUE(keys == expected) << num_threads << " threads, " << is_sorted;
    return is_sorted;
  };
  std::vector<std::uint16_t> keys(100'003);
  for (std::uint16_t& key : keys) key = static_cast<std::uint16_t>(random());
  for (const unsigned num_threads : {1U, 2U, 3U, 8U, 9U}) EXPECT_TRUE(shares(keys, num_threads)) << num_threads;
  std::vector<std::uint16_t> with_heavy = keys;
  for (std::uint64_t i = 0; i < with_heavy.size(); i += 3) with_heavy[i] = 77;
  EXPECT_FALSE(shares(with_heavy, 2));
  // A sixteenth of the keys are of one value.
  for (std::uint64_t i = 0; i < with_heavy.size(); ++i) with_heavy[i] = i % 16 == 0 ? 77 : keys[i];
  EXPECT_TRUE(shares(with_heavy, 3));
  if (test::is_small_scale()) return;
  std::vector<std::uint16_t> many(std::uint64_t{1} << 18);
  for (std::uint16_t& key : many) key = static_cast<std::uint16_t>(random());
  EXPECT_FALSE(shares(many, 1)) << "a part of all keys finds no room";
  EXPECT_TRUE(shares(many, 2));
}

TEST(ParkedThreads, AreStartedAnewInAForkedProcess) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the thread sanitizer allows no new threads behind a fork";
#endif
  static auto* const threads = new parked_threads;
  const auto begins_with = [&](unsigned wanted) {
    count_of_threads counted;
    threads->start(2);
    threads->open({count_of_threads::run, &counted}, 2);
    for (unsigned i = 0; i < 20'000 && counted.begun < wanted; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    threads->close();
    return counted.begun >= wanted;
  };
  // A thread that is still being started while the process forks leaves locks of the address sanitizer held, and the
  // child can start none then.
  ASSERT_TRUE(begins_with(2));
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) ::_exit(begins_with(1) ? 0 : 1);
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

}  // namespace
}  // namespace spansort::device::host
