// SPDX-License-Identifier: Apache-2.0
// Sorts of pairs and argsorts, those that threads share, on more threads than there may be processors, and those of the
// calling thread, against a stable sort: every width of keys and values, keys that lie evenly, crowd, repeat, tie, are
// in order or are so but for a tail, heavy keys among others, and calls from several threads at a time, of which one
// has the memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "device/host/shared_order.hpp"
#include "device/host/shared_pairs.hpp"
#include "device/host/small_pairs.hpp"
#include "support/environment.hpp"

namespace spansort::device::host {
namespace {

constexpr unsigned num_kinds = 13;

template <class K>
std::vector<K> make_keys(std::uint64_t num_keys, unsigned kind, std::mt19937_64& random) {
  constexpr unsigned width = sizeof(K) * 8;
  std::vector<K> keys(num_keys);
  for (std::uint64_t i = 0; i < num_keys; ++i) {
    K key = static_cast<K>(random());
    if (kind == 1) key &= static_cast<K>(random() & random() & random());
    if (kind == 2) key = static_cast<K>(key % 1000 * 0x10001);
    if (kind == 3) key = key % 9 == 0 ? key : K{0};
    if (kind == 4) key = static_cast<K>((key % 5 == 0 ? key : K{1}) << (width - 1));  // zeros of both signs, in floats
    if (kind == 5) key = static_cast<K>(i >> (width < 16 ? 12 : 0));
    if (kind == 6) key = static_cast<K>(num_keys - i);
    if (kind == 7) key = key % 8 == 0 ? key : static_cast<K>(~(key & 3));  // many NaNs
    if (kind == 8) key = static_cast<K>(i < num_keys - num_keys / 40 ? i / 3 : key % num_keys);
    if (kind == 9) key = key % 5 == 0 ? key : static_cast<K>(K{40} << key % 3);  // three heavy keys
    if (kind == 10) key = key % 300 == 0 ? static_cast<K>(key >> 3) : static_cast<K>(~K{0} >> 2);
    if (kind == 11) key = i % 8 == 0 ? K{5} : key;  // where a sample may look and find nothing else
    // One upper bit and the lowest: what lies between finds no room in a word.
    if (kind == 12) key = static_cast<K>((key & 0x3f) | (key >> 6 & 1) << (width - 1));
    keys[i] = key;
  }
  return keys;
}

template <class K>
std::vector<std::uint64_t> stable_order(const keys::key_codec& codec, const std::vector<K>& keys) {
  const auto of_width = codec.of<K>();
  std::vector<std::uint64_t> order(keys.size());
  std::iota(order.begin(), order.end(), std::uint64_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::uint64_t left, std::uint64_t right) {
    return of_width.encode(keys[left]) < of_width.encode(keys[right]);
  });
  return order;
}

/// Sorts pairs by `sort(codec, keys, values)` and orders keys by `argsort(codec, keys, indices)`.
template <class K, class Sort, class Argsort>
void expect_stable(const keys::key_codec& codec, const std::vector<K>& given, std::uint64_t value_bytes,
                   const Sort& sort, const Argsort& argsort) {
  const std::vector<std::uint64_t> order = stable_order(codec, given);
  std::vector<K> keys = given;
  std::vector<char> values(given.size() * value_bytes);
  for (std::uint64_t i = 0; i < given.size(); ++i) std::memcpy(values.data() + i * value_bytes, &i, 4);
  sort(codec, keys.data(), values.data());
  for (std::uint64_t i = 0; i < given.size(); ++i) {
    std::uint32_t value = 0;
    std::memcpy(&value, values.data() + i * value_bytes, 4);
    ASSERT_EQ(value, order[i]) << "value " << i;
    ASSERT_EQ(keys[i], given[order[i]]) << "key " << i;
  }
  if (value_bytes == 16) return;
  std::vector<char> indices(given.size() * value_bytes);
  argsort(codec, given.data(), indices.data());
  for (std::uint64_t i = 0; i < given.size(); ++i) {
    std::uint64_t index = 0;
    std::memcpy(&index, indices.data() + i * value_bytes, value_bytes);
    ASSERT_EQ(index, order[i]) << "index " << i;
  }
}

template <class K>
void expect_sorts(key_type type, std::uint64_t num_keys, std::uint64_t value_bytes, unsigned num_threads, unsigned kind,
                  std::mt19937_64& random) {
  const keys::key_codec codec{type, kind % 3 == 1, keys::tie_rule::by_input_order};
  const std::vector<K> given = make_keys<K>(num_keys, kind, random);
  SCOPED_TRACE(std::to_string(num_keys) + " keys of type " + std::to_string(static_cast<int>(type)) + " and kind " +
               std::to_string(kind) + ", values of " + std::to_string(value_bytes) + " bytes, " +
               std::to_string(num_threads) + " threads");
  expect_stable(
      codec, given, value_bytes,
      [&](const keys::key_codec& c, K* keys, char* values) {
        ASSERT_TRUE(sort_shared_pairs(c, keys, values, value_bytes, num_keys, num_threads));
      },
      [&](const keys::key_codec& c, const K* keys, char* indices) {
        ASSERT_TRUE(argsort_shared(c, keys, indices, value_bytes, num_keys, num_threads));
      });
  if (num_keys > most_small_pairs) return;
  expect_stable(
      codec, given, value_bytes,
      [&](const keys::key_codec& c, K* keys, char* values) {
        sort_small_pairs(c, keys, values, value_bytes, num_keys);
      },
      [&](const keys::key_codec& c, const K* keys, char* indices) {
        argsort_small(c, keys, indices, value_bytes, num_keys);
      });
}

TEST(SharedPairs, AreSortedStablyOnAnyNumberOfThreads) {
  std::mt19937_64 random(test::base_seed());
  std::vector<std::uint64_t> sizes{1, 2, 100, 1000, 1025, 5000, 33'333, 70'001};
  if (!test::is_small_scale()) sizes.push_back(300'007);
  unsigned turn = 0;
  unsigned round = 0;
  for (const std::uint64_t num_keys : sizes) {
    for (unsigned kind = 0; kind < num_kinds; ++kind) {
      for (const std::uint64_t value_bytes : {4, 8, 16}) {
        if (test::is_small_scale() && turn++ % 10 != 0) continue;  // each width has its turn
        const unsigned num_threads = std::vector<unsigned>{1, 2, 3, 9}[round++ % 4];
        expect_sorts<std::uint32_t>(key_type::u32, num_keys, value_bytes, num_threads, kind, random);
        expect_sorts<std::uint64_t>(key_type::f64, num_keys, value_bytes, num_threads, kind, random);
        expect_sorts<std::uint32_t>(key_type::f32, num_keys, value_bytes, num_threads, kind, random);
        expect_sorts<std::uint64_t>(key_type::i64, num_keys, value_bytes, num_threads, kind, random);
        expect_sorts<std::uint16_t>(key_type::f16, num_keys, value_bytes, num_threads, kind, random);
        expect_sorts<std::uint8_t>(key_type::u8, num_keys, value_bytes, num_threads, kind, random);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

TEST(SharedPairs, AreLeftToOthersWhileOneThreadHasTheMemory) {
  std::atomic<unsigned> num_sorted = 0;
  std::vector<std::thread> callers;
  for (unsigned caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&, caller] {
      std::mt19937_64 random(test::base_seed() + caller);
      const keys::key_codec codec{key_type::u32, false, keys::tie_rule::by_input_order};
      for (unsigned round = 0; round < 10; ++round) {
        const std::vector<std::uint32_t> given = make_keys<std::uint32_t>(30'000, round % num_kinds, random);
        std::vector<std::uint32_t> keys = given;
        std::vector<std::uint32_t> values(keys.size());
        std::iota(values.begin(), values.end(), 0U);
        if (!sort_shared_pairs(codec, keys.data(), values.data(), 4, keys.size(), 2)) {
          EXPECT_EQ(keys, given);
          continue;
        }
        ++num_sorted;
        const std::vector<std::uint64_t> order = stable_order(codec, given);
        EXPECT_TRUE(std::equal(values.begin(), values.end(), order.begin(), order.end()));
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_GE(num_sorted, 1U);
}

}  // namespace
}  // namespace spansort::device::host
