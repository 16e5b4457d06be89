// SPDX-License-Identifier: Apache-2.0
// Packed keys come back byte by byte, whatever their type, order, number and distances, and take the bits that the
// largest distance in a block needs.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "device/packed_keys.hpp"
#include "keys/dispatch.hpp"
#include "support/environment.hpp"
#include "support/guarded_array.hpp"

namespace spansort::device {
namespace {

using test::guarded_array;

/// The memory that packed keys take, with red zones, aligned to 128 bytes.
class packed_array {
 public:
  packed_array(unsigned width_bytes, std::uint64_t num_keys)
      : storage_(packed_memory::size_bytes(width_bytes, num_keys) + 64), num_keys_(num_keys) {}
  [[nodiscard]] packed_memory memory() {
    const auto address = reinterpret_cast<std::uintptr_t>(storage_.data());
    return packed_memory::in(storage_.data() + (128 - address % 128) % 128, num_keys_);
  }
  [[nodiscard]] std::string corruption() const { return storage_.corruption(); }

 private:
  guarded_array storage_;
  std::uint64_t num_keys_;
};

enum class spread { even, near, far, equal, crowded };

/// Encoded keys in ascending order.
template <class K>
std::vector<K> ascending_keys(spread how, std::uint64_t num_keys) {
  std::mt19937_64 random(test::seed_for(num_keys * 8 + static_cast<unsigned>(how)));
  std::vector<K> keys(num_keys);
  for (std::uint64_t i = 0; i < num_keys; ++i) {
    switch (how) {
      case spread::even: keys[i] = static_cast<K>(random()); break;
      case spread::near: keys[i] = static_cast<K>(random() % (num_keys * 3)); break;
      case spread::far: keys[i] = random() % 2 == 0 ? K{0} : std::numeric_limits<K>::max(); break;
      case spread::equal: keys[i] = 77; break;
      case spread::crowded: keys[i] = static_cast<K>(random() >> (random() % 64)); break;
    }
  }
  std::ranges::sort(keys);
  return keys;
}

template <class K>
void expect_whole(const keys::key_codec& codec, const std::vector<K>& encoded, std::uint64_t misalignment_bytes) {
  const keys::codec_of<K> of_width = codec.of<K>();
  std::vector<K> sorted = encoded;
  for (K& k : sorted) k = of_width.decode(k);
  packed_array packed(sizeof(K), sorted.size());
  pack_keys(codec, sorted.data(), sorted.size(), packed.memory());
  EXPECT_EQ(packed.corruption(), "");
  guarded_array back(sorted.size() * sizeof(K), misalignment_bytes);
  unpack_keys(codec, packed.memory(), sorted.size(), back.data());
  EXPECT_TRUE(std::ranges::equal(back.bytes(), std::as_bytes(std::span(sorted)))) << sorted.size() << " keys";
  EXPECT_EQ(back.corruption(), "");
}

TEST(packed_keys_test, ComeBack) {
  std::vector<std::uint64_t> sizes{1, 2, 31, 32, 33, 64, 65, 2047, 2048, 2049, 4096, 5000};
  // The last size has as many blocks as several threads take.
  sizes.push_back(test::is_small_scale() ? 70'000 : 300'001);
  std::vector<key_type> types{key_type::u32, key_type::f64};
  if (!test::is_small_scale()) types.insert(types.end(), {key_type::i32, key_type::f32, key_type::u64, key_type::i64});
  for (const key_type type : types) {
    for (const bool descending : {false, true}) {
      const keys::key_codec codec{.type = type, .descending = descending, .ties = keys::tie_rule::by_bits};
      for (const std::uint64_t n : sizes) {
        for (const spread how : {spread::even, spread::near, spread::far, spread::equal, spread::crowded}) {
          SCOPED_TRACE(std::string(name(type)) + (descending ? " descending, " : ", ") + std::to_string(n) + " keys, " +
                       std::to_string(static_cast<int>(how)));
          const std::uint64_t misalignment_bytes = n % 16 * size_bytes(type);
          if (size_bytes(type) == 4) {
            expect_whole(codec, ascending_keys<std::uint32_t>(how, n), misalignment_bytes);
          } else {
            expect_whole(codec, ascending_keys<std::uint64_t>(how, n), misalignment_bytes);
          }
        }
      }
    }
  }
}

template <class K>
void expect_bits(K step, unsigned bits) {
  const keys::key_codec codec{.type = sizeof(K) == 4 ? key_type::u32 : key_type::u64};
  // Each row's distance to the one above it is 32 steps, or as many as are left.
  std::vector<K> keys(packed_block_keys);
  for (std::uint64_t i = 0; i < keys.size(); ++i) keys[i] = static_cast<K>(i / 32 * step);
  packed_array packed(sizeof(K), keys.size());
  pack_keys(codec, keys.data(), keys.size(), packed.memory());
  EXPECT_EQ(packed.memory().bits[0], bits) << step;
  expect_whole(codec, keys, 0);
}

TEST(packed_keys_test, TakeTheBitsOfTheirLargestDistance) {
  expect_bits<std::uint32_t>(0, 0);
  expect_bits<std::uint64_t>(0, 0);
  for (unsigned bits = 1; bits <= 26; ++bits) expect_bits<std::uint32_t>((1U << bits) - 1, bits);
  for (unsigned bits = 1; bits <= 58; ++bits) expect_bits<std::uint64_t>((std::uint64_t{1} << bits) - 1, bits);
  // Rows past the last key have no distance, so that one distance has all bits.
  for (const unsigned bits : {27U, 31U, 32U}) {
    std::vector<std::uint32_t> keys(100, 0);
    std::fill(keys.begin() + 64, keys.end(), static_cast<std::uint32_t>((std::uint64_t{1} << bits) - 1));
    packed_array packed(4, keys.size());
    pack_keys({.type = key_type::u32}, keys.data(), keys.size(), packed.memory());
    EXPECT_EQ(packed.memory().bits[0], bits);
    expect_whole({.type = key_type::u32}, keys, 4);
  }
  for (const unsigned bits : {59U, 63U, 64U}) {
    std::vector<std::uint64_t> keys(100, 0);
    std::fill(keys.begin() + 64, keys.end(), ~std::uint64_t{0} >> (64 - bits));
    packed_array packed(8, keys.size());
    pack_keys({.type = key_type::u64}, keys.data(), keys.size(), packed.memory());
    EXPECT_EQ(packed.memory().bits[0], bits);
    expect_whole({.type = key_type::u64}, keys, 8);
  }
}

TEST(packed_keys_test, AreWorthItWhereTheyAreMany) {
  const keys::key_codec u32{.type = key_type::u32};
  const keys::key_codec u64{.type = key_type::u64};
  EXPECT_FALSE(is_worth_packing(u32, 0));
  EXPECT_FALSE(is_worth_packing(u32, std::uint64_t{1} << 14));
  EXPECT_TRUE(is_worth_packing(u32, std::uint64_t{1} << 15));
  EXPECT_TRUE(is_worth_packing(u32, std::uint64_t{1} << 33));
  EXPECT_FALSE(is_worth_packing(u64, std::uint64_t{1} << 22));
  EXPECT_TRUE(is_worth_packing(u64, std::uint64_t{1} << 23));
  EXPECT_FALSE(is_worth_packing({.type = key_type::u16}, std::uint64_t{1} << 30));
  // Ties that are folded do not come back.
  EXPECT_FALSE(is_worth_packing({.type = key_type::f32, .ties = keys::tie_rule::by_input_order}, 1U << 30));
}

}  // namespace
}  // namespace spansort::device
