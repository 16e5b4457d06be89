// SPDX-License-Identifier: Apache-2.0
// The first key that is out of order is found in every type, wherever it is: in arrays of keys, in keys with the place
// that they came from, and in rows, which are each in order for itself.
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "files/key_element_orders.hpp"
#include "files/row_checks.hpp"
#include "spansort/sort.hpp"

namespace spansort::files {
namespace {

constexpr std::uint64_t num_keys = 100'000;  // of several blocks
constexpr std::uint64_t places[] = {1, 2, 40'000, 99'998, 99'999};

/// Calls f with a number of each type of keys, and with its type.
template <class F>
void for_each_type(const F& f) {
  f(std::uint8_t{}, key_type::u8);
  f(std::int8_t{}, key_type::i8);
  f(std::uint16_t{}, key_type::u16);
  f(std::int16_t{}, key_type::i16);
  f(std::uint32_t{}, key_type::u32);
  f(std::int32_t{}, key_type::i32);
  f(std::uint64_t{}, key_type::u64);
  f(std::int64_t{}, key_type::i64);
  // Small integers are the bits of small positive numbers, in the same order.
  f(std::uint16_t{}, key_type::f16);
  f(std::uint16_t{}, key_type::bf16);
  f(float{}, key_type::f32);
  f(double{}, key_type::f64);
}

/// Returns keys in order, a thousand of each value.
template <class K>
std::vector<K> keys_in_order() {
  std::vector<K> keys(num_keys);
  for (std::uint64_t i = 0; i < num_keys; ++i) keys[i] = static_cast<K>(1 + i / 1000);
  return keys;
}

TEST(FirstDisorder, OfKeys) {
  for_each_type([]<class K>(K, key_type type) {
    const auto order = make_key_order(type, direction::ascending, {.devices = "cpu"});
    const auto find = [&](const std::vector<K>& keys, bool unique) {
      return order->first_disorder(nullptr, reinterpret_cast<const std::byte*>(keys.data()), keys.size(), unique);
    };
    std::vector<K> keys = keys_in_order<K>();
    EXPECT_EQ(find(keys, false), std::nullopt) << name(type);
    EXPECT_EQ(find(keys, true), 1u) << name(type);
    for (const std::uint64_t at : places) {
      keys = keys_in_order<K>();
      keys[at] = K{0};
      EXPECT_EQ(find(keys, false), at) << name(type);
      keys[num_keys - 1] = K{0};
      EXPECT_EQ(find(keys, false), at) << name(type) << ": the first of two";
    }
    const K before{3};
    const auto* const left = reinterpret_cast<const std::byte*>(&before);
    EXPECT_EQ(order->first_disorder(left, reinterpret_cast<const std::byte*>(keys.data()), 5, false), 0u);
  });
}

TEST(FirstDisorder, OfKeysWithTheirPlaces) {
  for_each_type([]<class K>(K, key_type type) {
    const auto order = make_indexed_key_order(type, direction::ascending, {.devices = "cpu"});
    const std::uint64_t width = sizeof(K) + sizeof(std::uint64_t);
    const auto find = [&](const std::vector<K>& keys, const std::vector<std::uint64_t>& from) {
      std::vector<std::byte> elements(num_keys * width);
      for (std::uint64_t i = 0; i < num_keys; ++i) {
        std::memcpy(elements.data() + i * width, &keys[i], sizeof(K));
        std::memcpy(elements.data() + i * width + sizeof(K), &from[i], sizeof(std::uint64_t));
      }
      return order->first_disorder(nullptr, elements.data(), num_keys, false);
    };
    std::vector<std::uint64_t> from(num_keys);
    std::iota(from.begin(), from.end(), 0);
    std::vector<K> keys = keys_in_order<K>();
    EXPECT_EQ(find(keys, from), std::nullopt) << name(type);
    from[40'001] = 40'000;
    from[40'000] = 40'001;
    EXPECT_EQ(find(keys, from), 40'001u) << name(type) << ": equal keys are not in their order";
    keys[99'999] = keys[20'000] = K{0};
    EXPECT_EQ(find(keys, from), 20'000u) << name(type);
  });
}

TEST(FirstDisorder, OfRows) {
  constexpr std::uint64_t row_keys = 1000;
  for_each_type([]<class K>(K, key_type type) {
    std::vector<K> keys(num_keys);
    for (std::uint64_t i = 0; i < num_keys; ++i) keys[i] = static_cast<K>(1 + i % row_keys / 10);
    const const_key_span span(type, keys.data(), num_keys);
    const auto find = [&](bool unique) { return first_row_disorder(span, row_keys, direction::ascending, unique); };
    EXPECT_EQ(find(false), std::nullopt) << name(type) << ": rows begin anew";
    EXPECT_EQ(find(true), 1u) << name(type);
    EXPECT_EQ(first_row_disorder(span, row_keys, direction::descending, false), 10u) << name(type);
    EXPECT_EQ(num_row_duplicates(span, row_keys, direction::ascending), num_keys / 10 * 9) << name(type);
    for (const std::uint64_t at : {std::uint64_t{99'999}, std::uint64_t{40'007}, std::uint64_t{1}}) {
      keys[at] = K{0};
      EXPECT_EQ(find(false), at) << name(type);
    }
  });
}

TEST(FirstDisorder, OfTheOrderOfRows) {
  constexpr std::uint64_t row_keys = 1000;
  for_each_type([]<class K>(K, key_type type) {
    std::vector<K> keys(num_keys);
    std::vector<std::uint64_t> order(num_keys);
    for (std::uint64_t i = 0; i < num_keys; ++i) {
      keys[i] = static_cast<K>(1 + i % row_keys / 10);
      order[i] = i % row_keys;
    }
    const auto is_order = [&](direction d = direction::ascending) {
      return is_order_of_rows({type, keys.data(), num_keys}, row_keys, d, order.data());
    };
    EXPECT_TRUE(is_order()) << name(type);
    EXPECT_FALSE(is_order(direction::descending)) << name(type);
    for (const std::uint64_t wrong : {std::uint64_t{6}, std::uint64_t{900}, row_keys, ~std::uint64_t{0}}) {
      for (const std::uint64_t at : {std::uint64_t{0}, std::uint64_t{70'007}, num_keys - 1}) {
        const std::uint64_t before = std::exchange(order[at], wrong);
        EXPECT_FALSE(is_order()) << name(type) << ": " << wrong << " at " << at;
        order[at] = before;
      }
    }
    EXPECT_TRUE(is_order_of_rows({type, nullptr, 0}, row_keys, direction::ascending, nullptr));
  });
}

}  // namespace
}  // namespace spansort::files
