// SPDX-License-Identifier: Apache-2.0
// Keys alone that repeat: a few values, a few values but for a stranger, heavy values among others, and samples that
// deceive. One thread to three, so that each of the ways is taken, with the bytes that std::sort gives.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

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

// No zeros and no NaNs among these floats: equal keys are equal bits, and a reversed order is the descending one.
TEST(RepeatedKeys, OnOneThreadToThree) {
  for (const std::uint64_t num_keys : {5000, 300'000}) {
    expect_sorted<std::uint32_t>(num_keys);
    expect_sorted<std::int64_t>(num_keys);
    expect_sorted<float>(num_keys);
    expect_sorted<double>(num_keys);
  }
}

}  // namespace
}  // namespace spansort::test
