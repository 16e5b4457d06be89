// SPDX-License-Identifier: Apache-2.0
// Keys of few distinct values on one thread, against std::sort: values that a sample shows, values that it misses, too
// many of them, one stranger at any place, and sampled places that all hold the same key.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "device/host/ordered_keys.hpp"
#include "support/environment.hpp"

namespace spansort::device::host {
namespace {

constexpr std::uint64_t sizes[] = {64, 65, 127, 200, 512, 513, 1000, 2049, 5000, 40'001, 100'000};

template <class K>
class count_few_test : public testing::Test {
 protected:
  /// Sorts a copy. Returns whether it was sorted by counts; nothing may have been written otherwise.
  bool sort(const std::vector<K>& keys) {
    const auto codec = keys::key_codec{sizeof(K) == 8   ? key_type::f64
                                       : sizeof(K) == 4 ? key_type::f32
                                                        : key_type::f16,
                                       random_() % 2 == 0}
                           .template of<K>();
    std::vector<K> sorted = keys;
    const bool is_done = sort_few_values(codec, sorted.data(), sorted.size());
    std::vector<K> expected = keys;
    if (is_done) {
      std::sort(expected.begin(), expected.end(), [&](K l, K r) { return codec.encode(l) < codec.encode(r); });
    }
    EXPECT_TRUE(sorted == expected) << keys.size() << " keys, sorted by counts: " << is_done;
    return is_done;
  }
  [[nodiscard]] std::vector<K> values(unsigned count) {
    std::vector<K> found(count);
    for (K& value : found) value = static_cast<K>(random_());
    return found;
  }
  [[nodiscard]] std::vector<K> keys_of(const std::vector<K>& values, std::uint64_t num_keys) {
    std::vector<K> keys(num_keys);
    for (K& key : keys) key = values[random_() % values.size()];
    return keys;
  }

  std::mt19937_64 random_{test::base_seed()};
};
using key_words = testing::Types<std::uint16_t, std::uint32_t, std::uint64_t>;
TYPED_TEST_SUITE(count_few_test, key_words);

TYPED_TEST(count_few_test, FewValues) {
  for (const std::uint64_t n : sizes) {
    EXPECT_TRUE(this->sort(this->keys_of(this->values(1), n))) << n << " keys";
    this->sort(this->keys_of(this->values(2), n));
    this->sort(this->keys_of(this->values(5), n));
    const bool three = this->sort(this->keys_of(this->values(3), n));
    EXPECT_TRUE(three || n <= 2048) << n << " keys";
    for (unsigned count = 6; count <= 40; ++count) this->sort(this->keys_of(this->values(count), n));
  }
}

TYPED_TEST(count_few_test, StrangersAtAnyPlace) {
  for (const std::uint64_t n : sizes) {
    for (unsigned round = 0; round < 60; ++round) {
      std::vector<TypeParam> keys = this->keys_of(this->values(1 + round % 16), n);
      for (unsigned i = 0; i <= round % 7; ++i) keys[this->random_() % n] = static_cast<TypeParam>(this->random_());
      this->sort(keys);
      keys.back() = static_cast<TypeParam>(this->random_());
      keys.front() = static_cast<TypeParam>(this->random_());
      this->sort(keys);
    }
  }
}

TYPED_TEST(count_few_test, SampledPlacesDeceive) {
  for (const std::uint64_t n : sizes) {
    std::vector<TypeParam> keys = this->values(static_cast<unsigned>(n));
    for (std::uint64_t i = 0; i < n; ++i) {
      if (i % (n / 7 + 1) < 40) keys[i] = 77;
    }
    this->sort(keys);
  }
}

template <class K>
class heavy_vector_sort_test : public count_few_test<K> {};
using wide_words = testing::Types<std::uint32_t, std::uint64_t>;
TYPED_TEST_SUITE(heavy_vector_sort_test, wide_words);

// Arrays begin anywhere in a line and end anywhere in a tile; all keys but the others become the first value.
TYPED_TEST(heavy_vector_sort_test, OthersAreGathered) {
  using K = TypeParam;
  if (!has_vector_sort()) GTEST_SKIP() << "vectors of this machine are too narrow";
  constexpr std::uint64_t guard_keys = 32;
  constexpr K guard = static_cast<K>(0xDEADBEEF);
  std::vector<std::uint64_t> counts_of_keys = {2047, 2048, 2049, 5000, 20'011};
  for (std::uint64_t n = 0; n < 70; n += 3) counts_of_keys.push_back(n);
  for (const std::uint64_t n : counts_of_keys) {
    for (unsigned round = 0; round < 32; ++round) {
      const std::vector<K> heavy = this->values(1 + round % most_heavy_values);
      std::vector<K> keys = this->keys_of(heavy, n);
      for (std::uint64_t i = 0; i < n * (round / 8) / 3; ++i)
        keys[this->random_() % n] = static_cast<K>(this->random_() % 1000);
      std::vector<std::uint64_t> expected_counts;
      std::vector<K> expected = keys;
      for (const K value : heavy) {
        expected_counts.push_back(static_cast<std::uint64_t>(std::count(keys.begin(), keys.end(), value)));
        std::erase(expected, value);
      }
      std::sort(expected.begin(), expected.end());

      const auto begin = static_cast<std::ptrdiff_t>(guard_keys + round % 16);
      std::vector<K> memory(n + 3 * guard_keys, guard);
      std::copy(keys.begin(), keys.end(), memory.begin() + begin);
      std::vector<std::uint64_t> counts(heavy.size(), 7);
      const std::uint64_t num_others =
          gather_others(memory.data() + begin, n, std::span<const K>(heavy), counts.data());
      for (std::uint64_t& count : counts) count -= 7;
      EXPECT_EQ(counts, expected_counts) << n << " keys in round " << round;
      ASSERT_EQ(num_others, expected.size()) << n << " keys in round " << round;
      const auto end = memory.begin() + begin + static_cast<std::ptrdiff_t>(n);
      const auto others = end - static_cast<std::ptrdiff_t>(num_others);
      std::sort(others, end);
      EXPECT_TRUE(std::equal(others, end, expected.begin())) << n << " keys in round " << round;
      EXPECT_EQ(std::count(memory.begin() + begin, others, heavy[0]), others - (memory.begin() + begin))
          << n << " keys in round " << round;
      EXPECT_EQ(std::count(memory.begin(), memory.begin() + begin, guard), begin) << "writes before the keys";
      EXPECT_EQ(std::count(end, memory.end(), guard), memory.end() - end) << "writes behind the keys";
    }
  }
}

// Some values hold all but a part of the keys, at any of their places in the order; the arrays fit exactly.
TYPED_TEST(heavy_vector_sort_test, OthersAreSortedAround) {
  using K = TypeParam;
  if (!has_vector_sort()) GTEST_SKIP() << "vectors of this machine are too narrow";
  constexpr std::uint64_t line_keys = 64 / sizeof(K);
  unsigned num_done = 0;
  for (const std::uint64_t n : sizes) {
    std::vector<K> first(n + line_keys);
    std::vector<K> second(vector_sort_spread * n + line_keys);
    std::vector<std::uint32_t> cursors(n / 16 + 16);
    const vector_sort_scratch<K> scratch{first.data(),           second.data(),  n,
                                         vector_sort_spread * n, cursors.data(), cursors.size()};
    for (unsigned round = 0; round < 64; ++round) {
      std::vector<K> heavy = this->values(1 + round % 8);
      if (round % 3 == 0) heavy[0] = static_cast<K>(round % 2 == 0 ? 0 : ~K{0});
      std::vector<K> keys = this->keys_of(heavy, n);
      for (std::uint64_t i = 0; i < n * (round / 8) / 12; ++i)
        keys[this->random_() % n] = static_cast<K>(this->random_());
      const key_type type = sizeof(K) == 8 ? key_type::f64 : key_type::i32;
      const auto codec = keys::key_codec{type, round % 2 == 0}.template of<K>();
      few_counts<K> found;
      std::vector<K> sorted = keys;
      if (sort_few_values(codec, sorted.data(), n, found)) continue;
      if (!sort_heavy_values(codec, sorted.data(), n, found, scratch)) {
        EXPECT_TRUE(sorted == keys) << n << " keys in round " << round;
        continue;
      }
      ++num_done;
      std::sort(keys.begin(), keys.end(), [&](K l, K r) { return codec.encode(l) < codec.encode(r); });
      EXPECT_TRUE(sorted == keys) << n << " keys in round " << round;
    }
  }
  EXPECT_GT(num_done, 50U);
}

}  // namespace
}  // namespace spansort::device::host
