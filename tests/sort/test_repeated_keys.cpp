// SPDX-License-Identifier: Apache-2.0
// Keys alone that repeat: a few values, a few values but for a stranger, heavy values among others, and samples that
// deceive. One thread to three, so that each of the ways is taken, with the bytes that std::sort gives.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "spansort/report.hpp"
#include "spansort/sort.hpp"
#include "support/environment.hpp"

namespace spansort::test {
namespace {

enum class kind { two, sixteen, seventeen, stranger, thousand, heavy, heavy_sorted_but_one, sorted_runs, deceiving };
constexpr kind all_kinds[] = {kind::two,
                              kind::sixteen,
                              kind::seventeen,
                              kind::stranger,
                              kind::thousand,
                              kind::heavy,
                              kind::heavy_sorted_but_one,
                              kind::sorted_runs,
                              kind::deceiving};

template <class K>
std::vector<K> make_keys(kind what, std::uint64_t num_keys) {
  std::mt19937_64 random(seed_for(static_cast<std::uint64_t>(what)));
  const auto any = [&] { return static_cast<K>(static_cast<std::int64_t>(random() >> 11) - (std::int64_t{1} << 52)); };
  std::vector<K> values(what == kind::two        ? 2
                        : what == kind::sixteen  ? 16
                        : what == kind::thousand ? 1000
                        : what == kind::stranger ? 5
                                                 : 17);
  for (K& value : values) value = any();
  std::vector<K> keys(num_keys);
  for (K& key : keys) key = values[random() % values.size()];
  switch (what) {
    case kind::stranger: keys[random() % num_keys] = any(); break;
    case kind::heavy:
    case kind::heavy_sorted_but_one:
      for (K& key : keys) key = random() % 3 == 0 ? any() : key;
      break;
    // Most looks of an evenly spread sample meet the same key.
    case kind::deceiving:
      for (std::uint64_t i = 0; i < num_keys; ++i) keys[i] = i % (num_keys / 1024) == 0 ? values[0] : any();
      break;
    default: break;
  }
  if (what == kind::heavy_sorted_but_one || what == kind::sorted_runs) {
    std::sort(keys.begin(), keys.end());
    std::swap(keys[num_keys / 3], keys[num_keys - 5]);
  }
  return keys;
}

template <class K>
void expect_sorted(std::uint64_t num_keys) {
  for (const kind what : all_kinds) {
    const std::vector<K> input = make_keys<K>(what, num_keys);
    std::vector<K> expected = input;
    std::sort(expected.begin(), expected.end());
    for (const direction d : {direction::ascending, direction::descending}) {
      for (const unsigned threads : {1U, 2U, 3U}) {
        std::vector<K> keys = input;
        sort(keys, d, {.devices = "cpu", .threads = threads});
        EXPECT_EQ(keys, expected) << "kind " << static_cast<int>(what) << ", " << threads << " threads, " << num_keys
                                  << " keys of " << sizeof(K) << " bytes";
      }
      std::reverse(expected.begin(), expected.end());
    }
  }
}

/// Values tell where their key was; `Value` has 4, 8 or 16 bytes.
template <class K, class Value>
void expect_stable(const std::vector<K>& input, const std::string& what) {
  std::vector<std::uint32_t> order(input.size());
  for (const direction d : {direction::ascending, direction::descending}) {
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t left, std::uint32_t right) {
      return d == direction::ascending ? input[left] < input[right] : input[right] < input[left];
    });
    for (const unsigned threads : {1U, 2U, 3U}) {
      std::vector<K> keys = input;
      std::vector<Value> values(input.size());
      for (std::uint32_t i = 0; i < input.size(); ++i) values[i].where = i;
      sort_pairs(keys, values, d, {.devices = "cpu", .threads = threads});
      std::uint64_t mistakes = 0;
      for (std::size_t i = 0; i < order.size(); ++i) {
        const bool right_key = std::memcmp(&keys[i], &input[order[i]], sizeof(K)) == 0;
        mistakes += right_key && values[i].where == order[i] ? 0 : 1;
      }
      EXPECT_EQ(mistakes, 0u) << what << ", " << threads << " threads";
      std::vector<std::uint32_t> indices(input.size());
      argsort(input, indices, d, {.devices = "cpu", .threads = threads});
      EXPECT_EQ(indices, order) << what << ", " << threads << " threads, argsort";
    }
  }
}

struct value_of_4 {
  std::uint32_t where;
};
struct value_of_8 {
  std::uint32_t where, other;
};
struct value_of_16 {
  std::uint64_t where, other;
};

template <class K>
void expect_stable_pairs(std::uint64_t num_keys) {
  for (const kind k : all_kinds) {
    const std::vector<K> input = make_keys<K>(k, num_keys);
    const std::string what = "kind " + std::to_string(static_cast<int>(k)) + ", " + std::to_string(num_keys) +
                             " keys of " + std::to_string(sizeof(K)) + " bytes";
    expect_stable<K, value_of_4>(input, what + ", values of 4");
    expect_stable<K, value_of_8>(input, what + ", values of 8");
    if (num_keys < 100'000) expect_stable<K, value_of_16>(input, what + ", values of 16");
  }
}

TEST(RepeatedKeys, OfPairs) {
  for (const std::uint64_t num_keys : {5000, 200'000}) {
    expect_stable_pairs<std::uint32_t>(num_keys);
    expect_stable_pairs<std::int64_t>(num_keys);
    if (is_small_scale()) return;
    expect_stable_pairs<float>(num_keys);
    expect_stable_pairs<double>(num_keys);
  }
}

/// Returns a place where an input of so many keys is sampled for frequent ones (heavy_sample.cpp).
std::uint64_t sampled_place(std::uint64_t num_keys, unsigned i) {
  const std::uint64_t stride = num_keys / 64;
  return i * stride + ((i + 1) * 0x9E37ULL % 0x10000 * stride >> 16);
}

/// All samples of the input are one key, of the other keys another one, and so on. A sort that set one key apart each
/// time would read all others for 64 pairs, and go one call deeper.
TEST(RepeatedKeys, ThatDeceiveEachSampleAreNotSetApartOneByOne) {
  constexpr std::uint64_t num_keys = 300'000;
  constexpr std::uint32_t num_deceptions = 200;
  std::mt19937_64 random(seed_for(num_keys));
  std::vector<std::uint32_t> keys(num_keys);
  for (std::uint32_t& key : keys) key = static_cast<std::uint32_t>(random());
  std::vector<std::uint32_t> others(num_keys);
  std::iota(others.begin(), others.end(), 0U);
  for (std::uint32_t deception = 1; deception <= num_deceptions; ++deception) {
    std::vector<bool> is_sampled(others.size());
    for (unsigned i = 0; i < 64; ++i) is_sampled[sampled_place(others.size(), i)] = true;
    std::vector<std::uint32_t> left;
    for (std::size_t i = 0; i < others.size(); ++i) {
      if (is_sampled[i]) {
        keys[others[i]] = deception * 0x9E3779B9U;
      } else {
        left.push_back(others[i]);
      }
    }
    others.swap(left);
  }
  for (const unsigned threads : {1U, 2U}) {
    std::vector<std::uint32_t> sorted = keys;
    std::vector<std::uint32_t> values(num_keys);
    std::iota(values.begin(), values.end(), 0U);
    sort_report report;
    sort_pairs(sorted, values, direction::ascending, {.devices = "cpu", .threads = threads, .report = &report});
    std::uint64_t bytes_moved = 0;
    for (const phase_report& phase : report.phases) bytes_moved += phase.bytes_moved;
    EXPECT_LT(bytes_moved, num_keys * 8 * 20) << threads << " threads";
    EXPECT_TRUE(std::ranges::is_sorted(sorted)) << threads << " threads";
    for (std::uint64_t i = 0; i < num_keys; ++i) ASSERT_EQ(keys[values[i]], sorted[i]) << i;
  }
}

TEST(RepeatedKeys, ZerosOfBothSignsTieInPairs) {
  for (const std::uint64_t num_keys : {3000, 100'000}) {
    std::vector<float> input(num_keys);
    std::mt19937_64 random(seed_for(num_keys));
    for (float& key : input) key = random() % 3 == 0 ? 0.0F : random() % 2 == 0 ? -0.0F : 1.0F;
    expect_stable<float, value_of_4>(input, "zeros of both signs");
  }
}

// No zeros and no NaNs among these floats: equal keys are equal bits, and a reversed order is the descending one.
TEST(RepeatedKeys, OnOneThreadToThree) {
  for (const std::uint64_t num_keys : {5000, is_small_scale() ? 100'000 : 300'000}) {
    expect_sorted<std::uint32_t>(num_keys);
    expect_sorted<std::int64_t>(num_keys);
    expect_sorted<float>(num_keys);
    expect_sorted<double>(num_keys);
  }
}

}  // namespace
}  // namespace spansort::test
