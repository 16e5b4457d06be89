// SPDX-License-Identifier: Apache-2.0
// The kernels that look at the order of keys, against loops that do so one key after the other: all widths, codecs that
// leave keys as they are, that change their bits, and that fold ties; inputs in order but for one pair of neighbours,
// at sizes around a vector and around the blocks that are looked at together.
#include "device/host/vector_kernels.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "support/environment.hpp"

namespace spansort::device::host {
namespace {

template <class K>
order_flags order_of(const keys::codec_of<K>& codec, const std::vector<K>& keys) {
  order_flags flags;
  for (std::size_t i = 1; i < keys.size(); ++i) {
    const K left = codec.encode(keys[i - 1]);
    const K right = codec.encode(keys[i]);
    flags &= order_flags{left <= right, right <= left, right < left};
  }
  return flags;
}

template <class K>
std::uint64_t first_descent(const keys::codec_of<K>& codec, const std::vector<K>& keys) {
  for (std::size_t i = 1; i < keys.size(); ++i) {
    if (codec.encode(keys[i - 1]) > codec.encode(keys[i])) return i - 1;
  }
  return keys.size();
}

template <class K>
void expect_seen(const keys::codec_of<K>& codec, const std::vector<K>& keys) {
  const order_flags expected = order_of(codec, keys);
  const order_flags seen = scan_order(codec, keys.data(), keys.size());
  ASSERT_EQ(seen.ascending, expected.ascending);
  ASSERT_EQ(seen.descending, expected.descending);
  ASSERT_EQ(seen.strictly_descending, expected.strictly_descending);
  ASSERT_EQ(find_descent(codec, keys.data(), keys.size()), first_descent(codec, keys));
  if (keys.size() < 2) return;
  const std::uint64_t num_pairs = keys.size() - 1;
  std::vector<std::uint64_t> falls((num_pairs + 63) / 64, 0);
  mark_falls(codec, keys.data(), num_pairs, falls.data());
  for (std::uint64_t i = 0; i < 64 * falls.size(); ++i) {
    const bool falls_here = i < num_pairs && codec.encode(keys[i]) > codec.encode(keys[i + 1]);
    ASSERT_EQ((falls[i / 64] >> i % 64 & 1) != 0, falls_here) << i;
  }
}

/// Keys in order of their codes, and the same with one pair of neighbours exchanged or made equal.
template <class K>
void expect_orders_seen(const keys::key_codec& of_type, std::uint64_t num_keys, std::mt19937_64& random) {
  const keys::codec_of<K> codec = of_type.of<K>();
  const auto below = [&](K left, K right) { return codec.encode(left) < codec.encode(right); };
  std::vector<K> keys(num_keys);
  for (K& key : keys) key = static_cast<K>(random());
  expect_seen(codec, keys);
  std::sort(keys.begin(), keys.end(), below);
  for (const bool reversed : {false, true}) {
    if (reversed) std::reverse(keys.begin(), keys.end());
    expect_seen(codec, keys);
    for (unsigned round = 0; round < 12 && num_keys > 1; ++round) {
      // The first and the last pair have their turn.
      const std::uint64_t at = round == 0 ? 0 : round == 1 ? num_keys - 2 : random() % (num_keys - 1);
      std::vector<K> changed = keys;
      if (round % 3 == 2) {
        changed[at] = changed[at + 1];
      } else {
        std::swap(changed[at], changed[at + 1]);
      }
      expect_seen(codec, changed);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
  std::fill(keys.begin(), keys.end(), static_cast<K>(random()));
  expect_seen(codec, keys);
}

template <class K>
class vector_kernels_test : public testing::Test {};
using widths = testing::Types<std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>;
TYPED_TEST_SUITE(vector_kernels_test, widths);

TYPED_TEST(vector_kernels_test, SeeTheOrderOfKeys) {
  using K = TypeParam;
  constexpr key_type of_width[][3] = {{key_type::u8, key_type::i8, key_type::u8},
                                      {key_type::u16, key_type::i16, key_type::f16},
                                      {key_type::u32, key_type::i32, key_type::f32},
                                      {key_type::u64, key_type::i64, key_type::f64}};
  constexpr unsigned row = sizeof(K) == 1 ? 0 : sizeof(K) == 2 ? 1 : sizeof(K) == 4 ? 2 : 3;
  std::mt19937_64 random(test::base_seed());
  for (const key_type type : of_width[row]) {
    for (const bool descending : {false, true}) {
      for (const keys::tie_rule ties : {keys::tie_rule::by_bits, keys::tie_rule::by_input_order}) {
        const keys::key_codec codec{type, descending, ties};
        for (const std::uint64_t num_keys : {0, 1, 2, 7, 8, 9, 33, 64, 65, 127, 128, 129, 130, 257, 1024, 1025, 3001}) {
          SCOPED_TRACE(std::to_string(num_keys) + " keys of type " + std::to_string(static_cast<int>(type)) +
                       (descending ? ", descending" : "") + ", seed " + std::to_string(test::base_seed()));
          expect_orders_seen<K>(codec, num_keys, random);
          if (testing::Test::HasFatalFailure()) return;
        }
      }
    }
  }
}

}  // namespace
}  // namespace spansort::device::host
