// SPDX-License-Identifier: Apache-2.0
// The network of a few pairs, and of the order of a few keys, against a stable sort: every size, both widths of values
// at any alignment, both directions, zeros and NaNs that tie, and keys that differ in bits which a word has no room
// for. Nothing behind the last pair is written.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

#include "device/host/pair_network.hpp"
#include "device/host/small_pairs.hpp"
#include "keys/codec.hpp"
#include "support/environment.hpp"

namespace spansort::device::host {
namespace {

constexpr unsigned num_kinds = 11;

template <class K>
std::vector<K> make_keys(std::uint64_t num_keys, unsigned kind, const keys::codec_of<K>& codec,
                         std::mt19937_64& random) {
  constexpr unsigned width = sizeof(K) * 8;
  std::vector<K> keys(num_keys);
  for (K& key : keys) {
    const K any = static_cast<K>(random());
    key = any;
    if (kind == 1) key = any % 3;
    if (kind == 2) key = static_cast<K>((any & 63) | (any >> 7 & 1) << (width - 1));  // words have no room for the 63
    if (kind == 3) key = static_cast<K>(any >> 8 << (width - 1));                     // both zeros
    if (kind == 4) key = static_cast<K>(~(any & 3));                                  // NaNs
    if (kind == 5) key = static_cast<K>(any >> random() % width);
    if (kind == 6) key = 7;
  }
  const auto is_lower = [&](K left, K right) { return codec.encode(left) < codec.encode(right); };
  if (kind >= 7) std::stable_sort(keys.begin(), keys.end(), is_lower);
  if (kind == 8) std::swap(keys[num_keys / 2], keys[num_keys - 1]);
  if (kind >= 9) std::reverse(keys.begin(), keys.end());
  if (kind == 10) keys[num_keys / 2] = keys[num_keys / 2 - 1];  // descend, and two tie
  return keys;
}

/// Bytes between two zones that nobody may write to, at an odd address.
class guarded_bytes {
 public:
  explicit guarded_bytes(std::uint64_t size) : bytes_(size + 2 * zone + 1, std::uint8_t{0xA5}), size_(size) {}
  [[nodiscard]] std::uint8_t* data() { return bytes_.data() + zone + 1; }
  [[nodiscard]] bool are_zones_whole() const {
    const auto is_whole = [](std::uint8_t byte) { return byte == 0xA5; };
    return std::all_of(bytes_.begin(), bytes_.begin() + zone + 1, is_whole) &&
           std::all_of(bytes_.begin() + static_cast<std::ptrdiff_t>(zone + 1 + size_), bytes_.end(), is_whole);
  }

 private:
  static constexpr std::ptrdiff_t zone = 200;
  std::vector<std::uint8_t> bytes_;
  std::uint64_t size_;
};

template <class K, class W>
void expect_sorts(key_type type, direction d, const std::vector<K>& keys) {
  const auto codec = keys::key_codec{type, keys::is_descending(d), keys::tie_rule::by_input_order}.of<K>();
  const std::uint64_t num_keys = keys.size();
  std::vector<W> order(num_keys);
  std::iota(order.begin(), order.end(), W{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](W left, W right) { return codec.encode(keys[left]) < codec.encode(keys[right]); });

  guarded_bytes indices(num_keys * sizeof(W));
  ASSERT_TRUE(argsort_smallest(type, keys.data(), indices.data(), sizeof(W), num_keys, d));
  EXPECT_EQ(std::memcmp(indices.data(), order.data(), num_keys * sizeof(W)), 0) << num_keys << " keys";
  EXPECT_TRUE(indices.are_zones_whole());

  std::vector<K> sorted = keys;
  sorted.resize(num_keys + 40, static_cast<K>(0xDEADBEEF));
  guarded_bytes values(num_keys * sizeof(W));
  std::vector<W> given(num_keys);
  std::iota(given.begin(), given.end(), W{0});
  std::memcpy(values.data(), given.data(), num_keys * sizeof(W));
  ASSERT_TRUE(sort_smallest_pairs(type, sorted.data(), values.data(), sizeof(W), num_keys, d));
  EXPECT_EQ(std::memcmp(values.data(), order.data(), num_keys * sizeof(W)), 0) << num_keys << " pairs";
  EXPECT_TRUE(values.are_zones_whole());
  for (std::uint64_t i = 0; i < num_keys; ++i) ASSERT_EQ(sorted[i], keys[order[i]]) << i << " of " << num_keys;
  EXPECT_TRUE(std::all_of(sorted.begin() + static_cast<std::ptrdiff_t>(num_keys), sorted.end(),
                          [](K key) { return key == static_cast<K>(0xDEADBEEF); }));
}

template <class K>
void check_type(key_type type) {
  if (find_pair_network<K>(4, false).sort == nullptr) GTEST_SKIP() << "vectors of this machine are too narrow";
  std::mt19937_64 random(test::base_seed());
  for (const direction d : {direction::ascending, direction::descending}) {
    const auto codec = keys::key_codec{type, keys::is_descending(d), keys::tie_rule::by_input_order}.of<K>();
    for (std::uint64_t num_keys = 2; num_keys <= most_network_pairs; ++num_keys) {
      for (unsigned kind = 0; kind < num_kinds; ++kind) {
        SCOPED_TRACE(testing::Message() << "kind " << kind << ", seed " << test::base_seed());
        const std::vector<K> keys = make_keys<K>(num_keys, kind, codec, random);
        expect_sorts<K, std::uint32_t>(type, d, keys);
        expect_sorts<K, std::uint64_t>(type, d, keys);
        if (testing::Test::HasFailure()) return;
      }
    }
  }
}

TEST(PairNetwork, SortsIntegersOf32Bits) {
  check_type<std::uint32_t>(key_type::u32);
  check_type<std::uint32_t>(key_type::i32);
}
TEST(PairNetwork, SortsIntegersOf64Bits) {
  check_type<std::uint64_t>(key_type::u64);
  check_type<std::uint64_t>(key_type::i64);
}
TEST(PairNetwork, SortsFloats) {
  check_type<std::uint32_t>(key_type::f32);
  check_type<std::uint64_t>(key_type::f64);
}

TEST(PairNetwork, RefusesWhatOtherWaysTake) {
  std::array<std::uint32_t, 80> keys = {3, 2, 1};
  std::array<std::uint32_t, 80> values = {};
  const std::array<std::uint32_t, 80> given = keys;
  const auto sorts = [&](key_type type, std::uint32_t* from, void* with, std::uint64_t value_bytes, std::uint64_t n) {
    return sort_smallest_pairs(type, from, with, value_bytes, n, direction::ascending);
  };
  EXPECT_FALSE(sorts(key_type::u32, keys.data(), values.data(), 4, 1));
  EXPECT_FALSE(sorts(key_type::u32, keys.data(), values.data(), 4, most_network_pairs + 1));
  EXPECT_FALSE(sorts(key_type::u32, keys.data(), values.data(), 2, 3));
  EXPECT_FALSE(sorts(key_type::u32, keys.data(), values.data(), 16, 3));
  EXPECT_FALSE(sorts(key_type::u16, keys.data(), values.data(), 4, 3));
  EXPECT_FALSE(sorts(key_type::u32, nullptr, values.data(), 4, 3));
  EXPECT_FALSE(sorts(key_type::u32, keys.data(), nullptr, 4, 3));
  EXPECT_FALSE(sorts(key_type::u32, keys.data(), keys.data() + 2, 4, 3)) << "they overlap";
  EXPECT_FALSE(sorts(static_cast<key_type>(200), keys.data(), values.data(), 4, 3));
  EXPECT_EQ(keys, given);
}

}  // namespace
}  // namespace spansort::device::host
