// SPDX-License-Identifier: Apache-2.0
// The vector sort of keys alone against std::sort of encoded keys: every type, both directions, sizes around those of
// networks and slots, keys that lie evenly, in order or nearly so, that crowd, and that repeat. Nothing is written
// beyond the result.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "device/host/vector_sort.hpp"
#include "support/environment.hpp"

namespace spansort::device::host {
namespace {

enum class kind {
  uniform,
  crowded,
  few,
  zero_one,
  sorted,
  nearly_sorted,
  slope,
  almost_constant,
  unit_floats,
  deceiving,
  hundreds
};
constexpr kind all_kinds[] = {kind::uniform,     kind::crowded,       kind::few,     kind::zero_one,
                              kind::sorted,      kind::nearly_sorted, kind::slope,   kind::almost_constant,
                              kind::unit_floats, kind::deceiving,     kind::hundreds};

template <class K>
K bits_of_unit_float(std::uint64_t random) {
  const double value = static_cast<double>(random >> 11) * 0x1p-53;
  if constexpr (sizeof(K) == 8) {
    return std::bit_cast<K>(value);
  } else {
    return std::bit_cast<K>(static_cast<float>(value));
  }
}

template <class K>
std::vector<K> make_keys(kind what, std::uint64_t num_keys, std::mt19937_64& random) {
  std::vector<K> keys(num_keys);
  for (K& key : keys) {
    key = static_cast<K>(random());
    switch (what) {
      case kind::uniform:
      case kind::sorted:
      case kind::nearly_sorted: break;
      case kind::crowded: key &= static_cast<K>(random() & random() & random()); break;
      case kind::few: key = static_cast<K>(key % 3 * 0x10203); break;
      case kind::zero_one: key = key % 2 == 0 ? K{0} : static_cast<K>(~K{0}); break;
      case kind::slope: key = std::max(key, static_cast<K>(random())); break;
      case kind::almost_constant: key = key % 97 == 0 ? key : K{7}; break;
      // Evenly lying values that repeat until slots overflow.
      case kind::hundreds: key = static_cast<K>(key % 200 * static_cast<K>(~K{0} / 200)); break;
      case kind::unit_floats: key = bits_of_unit_float<K>(random()); break;
      // Places where samples are likely to look lie evenly, the others crowd.
      case kind::deceiving:
        key = static_cast<std::uint64_t>(&key - keys.data()) % (num_keys / 16 + 1) < 20 ? key : key % 1000;
        break;
    }
  }
  if (what == kind::sorted || what == kind::nearly_sorted) std::sort(keys.begin(), keys.end());
  if (what == kind::nearly_sorted) {
    for (std::uint64_t i = 0; i < num_keys; i += 30) std::swap(keys[i], keys[random() % num_keys]);
  }
  return keys;
}

template <class K>
std::vector<K> sorted_by(const keys::codec_of<K>& codec, std::vector<K> keys) {
  std::sort(keys.begin(), keys.end(), [&](K left, K right) { return codec.encode(left) < codec.encode(right); });
  return keys;
}

/// Scratch of a size that the test chooses.
template <class K>
struct test_scratch {
  explicit test_scratch(std::uint64_t num_keys)
      : first(num_keys + 64 / sizeof(K)), second(num_keys + 64 / sizeof(K)), cursors(4096), room(num_keys) {}
  vector_sort_scratch<K> get() { return {first.data(), second.data(), room, room, cursors.data(), cursors.size()}; }

  std::vector<K> first, second;
  std::vector<std::uint32_t> cursors;
  std::uint64_t room;
};

template <class K>
std::vector<key_type> types_of() {
  if (sizeof(K) == 4) return {key_type::u32, key_type::i32, key_type::f32};
  return {key_type::u64, key_type::i64, key_type::f64};
}

template <class K>
constexpr K red_zone = static_cast<K>(0xDEADBEEF);

template <class K, class Test>
void for_all_inputs(const std::vector<std::uint64_t>& sizes, const Test& test) {
  std::mt19937_64 random(test::base_seed());
  for (const key_type type : types_of<K>()) {
    for (const bool descending : {false, true}) {
      const auto codec = keys::key_codec{.type = type, .descending = descending}.template of<K>();
      for (const std::uint64_t num_keys : sizes) {
        for (const kind what : all_kinds) {
          SCOPED_TRACE(std::to_string(static_cast<int>(type)) + (descending ? " descending " : " ascending ") +
                       std::to_string(num_keys) + " keys of kind " + std::to_string(static_cast<int>(what)));
          test(codec, make_keys<K>(what, num_keys, random));
          if (testing::Test::HasFailure()) return;
        }
      }
    }
  }
}

template <class K>
class vector_sort_test : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_vector_sort()) GTEST_SKIP() << "vectors of this machine are too narrow";
  }
};
using key_words = testing::Types<std::uint32_t, std::uint64_t>;
TYPED_TEST_SUITE(vector_sort_test, key_words);

TYPED_TEST(vector_sort_test, InPlaceAndElsewhere) {
  using K = TypeParam;
  std::vector<std::uint64_t> sizes = {511, 512, 513, 1023, 1024, 2500, 4096, 10'000, 32'768, 40'000, 65'537};
  for (std::uint64_t n = 0; n <= 300; n += n < 20 ? 1 : 7) sizes.push_back(n);
  test_scratch<K> scratch(1 << 17);
  for_all_inputs<K>(sizes, [&](const keys::codec_of<K>& codec, const std::vector<K>& keys) {
    const std::vector<K> expected = sorted_by(codec, keys);
    const auto num_keys = static_cast<std::ptrdiff_t>(keys.size());
    std::vector<K> result(keys.size() + 300, red_zone<K>);
    vector_sort(codec, keys.data(), result.data(), keys.size(), scratch.get());
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), result.begin())) << "elsewhere";
    EXPECT_EQ(std::count(result.begin() + num_keys, result.end(), red_zone<K>), 300) << "writes beyond the result";
    std::copy(keys.begin(), keys.end(), result.begin());
    vector_sort(codec, result.data(), result.data(), keys.size(), scratch.get());
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), result.begin())) << "in place";
    EXPECT_EQ(std::count(result.begin() + num_keys, result.end(), red_zone<K>), 300) << "writes beyond the result";
  });
}

// Little scratch makes many partitions of few keys.
TYPED_TEST(vector_sort_test, LargeInputsInEitherArray) {
  using K = TypeParam;
  test_scratch<K> scratch(3 * 1024);
  for_all_inputs<K>({1, 1000, 5000, 70'000}, [&](const keys::codec_of<K>& codec, const std::vector<K>& keys) {
    const std::vector<K> expected = sorted_by(codec, keys);
    const auto num_keys = static_cast<std::ptrdiff_t>(keys.size());
    for (const int place : {0, 1, 2}) {
      std::vector<K> arrays[3];
      for (std::vector<K>& array : arrays) array.assign(keys.size() + 300, red_zone<K>);
      std::copy(keys.begin(), keys.end(), arrays[0].begin());
      vector_sort_large(codec, arrays[0].data(), arrays[1].data(), arrays[place].data(), keys.size(), scratch.get());
      EXPECT_TRUE(std::equal(expected.begin(), expected.end(), arrays[place].begin())) << "in array " << place;
      for (const std::vector<K>& array : arrays) {
        EXPECT_EQ(std::count(array.begin() + num_keys, array.end(), red_zone<K>), 300) << "writes beyond an array";
      }
    }
  });
}

}  // namespace
}  // namespace spansort::device::host
