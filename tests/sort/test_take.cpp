// SPDX-License-Identifier: Apache-2.0
// take(): every element where its index says, whatever the sizes, and indices that are out of range refused.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "spansort/errors.hpp"
#include "spansort/sort.hpp"
#include "spansort/take.hpp"
#include "support/environment.hpp"

namespace spansort {
namespace {

template <std::size_t size>
using row = std::array<unsigned char, size>;

template <class I>
std::vector<I> random_indices(std::uint64_t count, std::uint64_t num_elements, std::mt19937_64& random) {
  std::vector<I> indices(count);
  for (I& i : indices) i = static_cast<I>(random() % num_elements);
  return indices;
}

template <class V, class I>
void expect_taken(const std::vector<V>& values, const std::vector<I>& indices) {
  const std::vector<V> taken = take(values, indices);
  ASSERT_EQ(taken.size(), indices.size());
  for (std::size_t i = 0; i < indices.size(); ++i) {
    ASSERT_EQ(taken[i], values[static_cast<std::size_t>(indices[i])]) << i;
  }
}

template <class V>
void expect_taken_of_size(std::mt19937_64& random) {
  for (const std::uint64_t n : {1, 31, 32, 33, 1000, 100'000}) {
    std::vector<V> values(n);
    for (V& v : values) {
      for (std::size_t b = 0; b < sizeof(V); ++b) reinterpret_cast<unsigned char*>(&v)[b] = random() & 0x7f;
    }
    for (const std::uint64_t count : {std::uint64_t{0}, std::uint64_t{1}, n, 2 * n + 7}) {
      expect_taken(values, random_indices<std::uint32_t>(count, n, random));
      expect_taken(values, random_indices<std::int32_t>(count, n, random));
      expect_taken(values, random_indices<std::uint64_t>(count, n, random));
      expect_taken(values, random_indices<std::int64_t>(count, n, random));
    }
  }
}

TEST(Take, EverySizeOfElementsAndIndices) {
  std::mt19937_64 random(test::seed_for(1));
  expect_taken_of_size<std::uint8_t>(random);
  expect_taken_of_size<std::uint16_t>(random);
  expect_taken_of_size<float>(random);
  expect_taken_of_size<double>(random);
  expect_taken_of_size<row<16>>(random);
  expect_taken_of_size<row<3>>(random);
  expect_taken_of_size<row<100>>(random);
}

TEST(Take, AfterAnArgsort) {
  std::mt19937_64 random(test::seed_for(2));
  std::vector<std::uint64_t> keys(100'000);
  for (std::uint64_t& k : keys) k = random();
  const std::vector<std::uint64_t> sorted = take(keys, argsort(keys), {.threads = 1});
  EXPECT_TRUE(is_sorted(sorted));
}

template <class F>
std::string refusal_of(const F& f) {
  try {
    f();
  } catch (const invalid_argument& refusal) {
    return refusal.what();
  }
  return "";
}

TEST(Take, TheFirstBadIndexIsNamed) {
  const std::vector<float> values(5);
  std::vector<std::int64_t> indices(200'000, 3);
  indices[150'000] = 5;
  indices[170'000] = -1;
  indices[199'999] = 6;
  std::vector<float> places(indices.size(), 7.0f);
  const auto take_all = [&] { take_into(values, indices, places); };
  EXPECT_EQ(refusal_of(take_all), "take: index 5 at position 150000 is out of range: there are 5 elements");
  EXPECT_EQ(places, std::vector<float>(indices.size(), 7.0f));
  indices[20'000] = std::numeric_limits<std::int64_t>::min();
  EXPECT_EQ(refusal_of(take_all), "take: index -9223372036854775808 at position 20000 is negative");
  const std::vector<std::int32_t> small{0, -1};
  EXPECT_EQ(refusal_of([&] { static_cast<void>(take(values, small)); }), "take: index -1 at position 1 is negative");
  const std::vector<std::uint32_t> large{0, 4'294'967'295};
  EXPECT_EQ(refusal_of([&] { static_cast<void>(take(values, large)); }),
            "take: index 4294967295 at position 1 is out of range: there are 5 elements");
  const std::vector<float> nothing;
  EXPECT_NE(refusal_of([&] { static_cast<void>(take(nothing, large)); }), "");
  EXPECT_TRUE(take(nothing, std::vector<std::uint32_t>()).empty());
}

template <class I>
void expect_first_bad_index_named() {
  const std::vector<float> values(5);
  std::vector<float> places(200'000, 7.0f);
  for (const std::size_t first : {std::size_t{0}, std::size_t{1}, std::size_t{70'001}, places.size() - 1}) {
    std::vector<I> indices(places.size(), I{4});
    for (std::size_t i = first; i < indices.size(); i += 3) indices[i] = static_cast<I>(5 + i % 2);
    EXPECT_EQ(refusal_of([&] { take_into(values, indices, places); }), "take: index " + std::to_string(5 + first % 2) +
                                                                           " at position " + std::to_string(first) +
                                                                           " is out of range: there are 5 elements");
  }
  EXPECT_EQ(places, std::vector<float>(places.size(), 7.0f));
}

TEST(Take, OfManyBadIndicesOfEveryTypeTheFirstIsNamed) {
  expect_first_bad_index_named<std::uint32_t>();
  expect_first_bad_index_named<std::int32_t>();
  expect_first_bad_index_named<std::uint64_t>();
  expect_first_bad_index_named<std::int64_t>();
}

TEST(Take, RefusesWhatCannotBe) {
  const std::vector<float> values(5);
  const std::vector<std::uint32_t> indices{1, 2};
  std::vector<float> places(1);
  EXPECT_NE(refusal_of([&] { take_into(values, indices, places); }), "");
  const std::vector<std::uint16_t> narrow{1};
  EXPECT_NE(
      refusal_of([&] { take_elements(values.data(), 5, 4, as_const_key_span(std::span(narrow)), places.data()); }), "");
  EXPECT_NE(refusal_of([&] { take_into(values, indices, std::span(places), {.threads = 5000}); }), "");
  const const_key_span which = as_const_key_span(std::span(indices));
  EXPECT_EQ(refusal_of([&] { take_elements(nullptr, 5, 4, which, places.data()); }), "take: null pointer for elements");
  EXPECT_EQ(refusal_of([&] { take_elements(values.data(), 5, 4, which, nullptr); }), "take: null pointer for elements");
  EXPECT_EQ(refusal_of([&] { take_elements(nullptr, 5, 0, which, nullptr); }), "") << "elements of no bytes";
}

}  // namespace
}  // namespace spansort
