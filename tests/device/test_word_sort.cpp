// SPDX-License-Identifier: Apache-2.0
// The sort of pairs as words against a stable sort: every type, both directions, sizes around those of networks, short
// words and slots, keys that lie evenly, that crowd, that repeat, and that tie in all bits for which a word has room.
// Nothing is written beyond the result.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "device/host/word_sort.hpp"
#include "support/environment.hpp"

namespace spansort::device::host {
namespace {

enum class kind { uniform, crowded, few, zero_one, sorted, low_bits, last_bits, almost_constant, special, any_length };
constexpr kind all_kinds[] = {kind::uniform,  kind::crowded,   kind::few,     kind::zero_one,   kind::sorted,
                              kind::low_bits, kind::last_bits, kind::special, kind::any_length, kind::almost_constant};

template <class K>
K make_key(kind what, std::mt19937_64& random) {
  constexpr unsigned width = sizeof(K) * 8;
  const K key = static_cast<K>(random());
  switch (what) {
    case kind::uniform:
    case kind::sorted: return key;
    case kind::crowded: return key & static_cast<K>(random() & random() & random());
    case kind::few: return static_cast<K>(key % 3 * 0x10203);
    case kind::zero_one: return key % 2 == 0 ? K{0} : static_cast<K>(~K{0});
    case kind::low_bits: return key & K{0xffff};
    // One upper bit and the lowest: what lies between finds no room in a word.
    case kind::last_bits: return static_cast<K>((key & 7) | (key >> 7 & 1) << (width - 1));
    case kind::almost_constant: return key % 97 == 0 ? key : K{7};
    case kind::any_length: return static_cast<K>(key >> random() % width);
    case kind::special: return key % 4 == 0 ? static_cast<K>(key >> 8 << (width - 1)) : static_cast<K>(~(key & 3));
  }
  return key;
}

template <class K, class V>
struct pairs {
  std::vector<K> keys;
  std::vector<V> values;
};

template <class K, class V, class Order>
class sorter_under_test {
 public:
  explicit sorter_under_test(bool stream) : stream_(stream) {}
  void check(const keys::codec_of<K>& codec, kind what, std::uint64_t num_keys, bool in_place) {
    if (!word_sorter<K, V, Order>::takes(num_keys, {0, sizeof(K) * 8})) return;
    pairs<K, V> given{std::vector<K>(num_keys), std::vector<V>(num_keys)};
    for (K& key : given.keys) key = make_key<K>(what, random_);
    if (what == kind::sorted) std::sort(given.keys.begin(), given.keys.end());
    for (std::uint64_t i = 0; i < num_keys; ++i) std::memcpy(&given.values[i], &i, std::min(sizeof(V), sizeof i));
    std::vector<std::uint64_t> order(num_keys);
    std::iota(order.begin(), order.end(), std::uint64_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::uint64_t left, std::uint64_t right) {
      return codec.encode(given.keys[left]) < codec.encode(given.keys[right]);
    });
    constexpr std::uint64_t red_zone = 300;
    pairs<K, V> result = given;
    if (!in_place) result.keys.assign(num_keys, K{0}), result.values.assign(num_keys, V{});
    result.keys.resize(num_keys + red_zone, static_cast<K>(0xDEADBEEF));
    result.values.resize(num_keys + red_zone, V{});
    const split_records<K, V> to{result.keys.data(), result.values.data()};
    const split_records<K, V> from = in_place ? to : split_records<K, V>{given.keys.data(), given.values.data()};
    const bool sorted = word_sorter<K, V, Order>(Order(codec), codec, scratch_, stream_).sort(from, to, num_keys);
    ASSERT_TRUE(sorted || num_keys > max_words);
    if (!sorted) return;
    for (std::uint64_t i = 0; i < num_keys; ++i) {
      ASSERT_EQ(result.keys[i], given.keys[order[i]]) << "key " << i << " of " << num_keys;
      ASSERT_EQ(std::memcmp(&result.values[i], &given.values[order[i]], sizeof(V)), 0)
          << "value " << i << " of " << num_keys;
    }
    for (std::uint64_t i = num_keys; i < num_keys + red_zone; ++i) {
      ASSERT_EQ(result.keys[i], static_cast<K>(0xDEADBEEF)) << "writes beyond the result";
    }
  }

 private:
  bool stream_;
  worker_scratch scratch_;
  std::mt19937_64 random_{test::base_seed()};
};

template <class K, class V, class Order>
void check_all(const std::vector<key_type>& types, keys::tie_rule ties) {
  if (!has_vector_sort()) GTEST_SKIP() << "vectors of this machine are too narrow";
  std::vector<std::uint64_t> sizes = {255, 256, 257, 511, 512, 1024, 2047, 2048, 2049, 4097, 20'000, 65'536, 65'537};
  for (std::uint64_t n = 9; n <= 200; n += n < 20 ? 1 : 13) sizes.push_back(n);
  if (!test::is_small_scale()) sizes.insert(sizes.end(), {max_words, max_words + 1, 2 * max_words});
  for (const bool stream : {false, true}) {
    sorter_under_test<K, V, Order> sorter(stream);
    for (const key_type type : types) {
      for (const bool descending : {false, true}) {
        const auto codec = keys::key_codec{type, descending, ties}.template of<K>();
        for (const std::uint64_t num_keys : sizes) {
          if (num_keys > in_cache_keys<K, V>) continue;
          if (test::is_small_scale() && num_keys > 5000 && stream == descending) continue;  // a half of the large ones
          for (const kind what : all_kinds) {
            SCOPED_TRACE(std::to_string(static_cast<int>(type)) + (descending ? " descending" : " ascending") +
                         ", kind " + std::to_string(static_cast<int>(what)) + (stream ? ", streamed" : ""));
            sorter.check(codec, what, num_keys, stream);
            if (testing::Test::HasFatalFailure()) return;
          }
        }
      }
    }
  }
}

/// Numbers around those that are told apart, and ones of any length.
template <class K>
std::vector<K> numbers_to_round() {
  std::vector<K> numbers = {0, 1, 2, 3, static_cast<K>(~K{0}), static_cast<K>(~K{0} - 1)};
  std::mt19937_64 random(test::base_seed());
  for (unsigned bit = 0; bit < sizeof(K) * 8; ++bit) {
    const K power = static_cast<K>(K{1} << bit);
    for (const K near : {0, 1, 2, 127, 128, 129}) {
      numbers.push_back(static_cast<K>(power + near));
      numbers.push_back(static_cast<K>(power - near));
    }
    for (unsigned i = 0; i < 50; ++i) numbers.push_back(static_cast<K>(static_cast<K>(random()) >> bit));
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

template <class K>
void expect_rounding_ascends() {
  constexpr unsigned kept_bits = sizeof(K) == 4 ? 24 : 53;
  const std::vector<K> numbers = numbers_to_round<K>();
  EXPECT_EQ(rounded_bits(K{0}), K{0});
  for (std::size_t i = 1; i < numbers.size(); ++i) {
    const K low = rounded_bits(numbers[i - 1]);
    const K high = rounded_bits(numbers[i]);
    ASSERT_LE(low, high) << numbers[i - 1] << " and " << numbers[i];
    if (numbers[i - 1] != numbers[i] && numbers[i] >> kept_bits == 0) {
      ASSERT_LT(low, high) << numbers[i];
    }
    ASSERT_EQ(high >> most_rounded_bits<K>, K{0}) << numbers[i];
  }
}

TEST(word_sort_test, RoundedBitsAscend) {
  expect_rounding_ascends<std::uint32_t>();
  expect_rounding_ascends<std::uint64_t>();
}

TEST(word_sort_test, IntegersOf32Bits) {
  check_all<std::uint32_t, value4, bijective_order<std::uint32_t>>({key_type::u32, key_type::i32},
                                                                   keys::tie_rule::by_input_order);
}
TEST(word_sort_test, IntegersOf64Bits) {
  check_all<std::uint64_t, value8, bijective_order<std::uint64_t>>({key_type::u64, key_type::i64},
                                                                   keys::tie_rule::by_input_order);
}
TEST(word_sort_test, FloatsOf32Bits) {
  check_all<std::uint32_t, value8, folding_order<std::uint32_t>>({key_type::f32}, keys::tie_rule::by_input_order);
}
TEST(word_sort_test, FloatsOf64Bits) {
  check_all<std::uint64_t, value16, folding_order<std::uint64_t>>({key_type::f64}, keys::tie_rule::by_input_order);
}

}  // namespace
}  // namespace spansort::device::host
