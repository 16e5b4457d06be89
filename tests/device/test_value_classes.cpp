// SPDX-License-Identifier: Apache-2.0
// Values and positions of keys of a few values, moved to where those of each key lie: every width, any number of keys
// and classes, and nothing written behind the places of a class.
#include "device/host/value_classes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <span>
#include <tuple>
#include <vector>

#include "support/environment.hpp"

namespace spansort::device::host {
namespace {

template <class Widths>
class value_classes_test : public testing::Test {
 protected:
  using key = std::tuple_element_t<0, Widths>;
  using value = std::tuple_element_t<1, Widths>;
  using word = decltype(value::word);
  static constexpr value untouched{static_cast<word>(0xEEEE'EEEE'EEEE'EEEEU)};

  /// Keys of up to `num_classes` values, of which some are rare.
  void make_keys(unsigned num_classes, std::uint64_t num_keys) {
    wanted_.resize(num_classes);
    for (key& k : wanted_) k = static_cast<key>(random_());
    keys_.resize(num_keys);
    for (key& k : keys_) k = wanted_[std::min(random_() % num_classes, random_() % num_classes)];
  }

  /// Calls place(places) with places in an array whose classes lie apart, and compares what it has written with values
  /// that were put there one by one.
  template <class Place>
  void expect_placed(const std::vector<value>& values, const Place& place) const {
    constexpr std::size_t gap = 3;
    std::vector<value> expected(keys_.size() + gap * wanted_.size(), untouched);
    std::vector<value> found = expected;
    class_places<value> places;
    std::size_t at = 0;
    for (std::size_t v = 0; v < wanted_.size(); ++v) {
      places.next[v] = found.data() + at;
      for (std::size_t i = 0; i < keys_.size(); ++i) {
        if (keys_[i] == wanted_[v]) expected[at++] = values[i];
      }
      places.end[v] = found.data() + at;
      at += gap;
    }
    place(places);
    const auto is_same = [](const value& left, const value& right) { return left.word == right.word; };
    EXPECT_TRUE(std::ranges::equal(found, expected, is_same)) << keys_.size() << " keys of " << wanted_.size();
    for (std::size_t v = 0; v < wanted_.size(); ++v) EXPECT_EQ(places.next[v], places.end[v]) << v;
  }

  /// Calls f() with keys of each number of classes, few and many.
  template <class F>
  void for_all_keys(const F& f) {
    for (const unsigned num_classes : {1U, 2U, 3U, 4U, 5U, 6U, 7U, 8U, 9U, 12U, 13U, 16U}) {
      for (const std::uint64_t n :
           {0U, 1U, 7U, 8U, 9U, 15U, 16U, 17U, 31U, 33U, 64U, 1'000U, 2'047U, 8'209U, 40'003U}) {
        make_keys(num_classes, n);
        f();
      }
    }
  }

  std::mt19937_64 random_{test::base_seed()};
  std::vector<key> wanted_;
  std::vector<key> keys_;
};
using widths = testing::Types<std::tuple<std::uint32_t, value4>, std::tuple<std::uint32_t, value8>,
                              std::tuple<std::uint64_t, value4>, std::tuple<std::uint64_t, value8>>;
TYPED_TEST_SUITE(value_classes_test, widths);

TYPED_TEST(value_classes_test, PlacesValues) {
  using K = typename TestFixture::key;
  using V = typename TestFixture::value;
  this->for_all_keys([&] {
    std::vector<V> values(this->keys_.size());
    for (V& v : values) v.word = static_cast<typename TestFixture::word>(this->random_());
    this->expect_placed(values, [&](class_places<V>& places) {
      place_values<K, V>(this->keys_.data(), values.data(), values.size(), this->wanted_, places);
    });
  });
}

/// The values of one key may begin where all of them do.
TYPED_TEST(value_classes_test, PlacesValuesWhereTheyWere) {
  using K = typename TestFixture::key;
  using V = typename TestFixture::value;
  this->for_all_keys([&] {
    if (this->wanted_.size() > most_placed_at_once<K, V>) return;
    std::vector<V> values(this->keys_.size());
    for (V& v : values) v.word = static_cast<typename TestFixture::word>(this->random_());
    std::vector<V> expected;
    std::vector<V> others(values.size());
    std::vector<V> moved = values;
    class_places<V> places;
    V* next = others.data();
    for (std::size_t v = 0; v < this->wanted_.size(); ++v) {
      places.next[v] = v == 0 ? moved.data() : next;
      const std::size_t before = expected.size();
      for (std::size_t i = 0; i < values.size(); ++i) {
        if (this->keys_[i] == this->wanted_[v]) expected.push_back(values[i]);
      }
      places.end[v] = places.next[v] + (expected.size() - before);
      if (v != 0) next = places.end[v];
    }
    const std::ptrdiff_t num_first = places.end[0] - moved.data();
    place_values<K, V>(this->keys_.data(), moved.data(), moved.size(), this->wanted_, places);
    std::vector<V> found(moved.begin(), moved.begin() + num_first);
    found.insert(found.end(), others.data(), next);
    const auto is_same = [](const V& left, const V& right) { return left.word == right.word; };
    EXPECT_TRUE(std::ranges::equal(found, expected, is_same)) << values.size() << " keys of " << this->wanted_.size();
  });
}

TYPED_TEST(value_classes_test, PlacesPositions) {
  using K = typename TestFixture::key;
  using V = typename TestFixture::value;
  this->for_all_keys([&] {
    std::vector<V> positions(this->keys_.size());
    for (std::size_t i = 0; i < positions.size(); ++i) positions[i].word = static_cast<typename TestFixture::word>(i);
    this->expect_placed(positions, [&](class_places<V>& places) {
      place_positions<K, V>(this->keys_.data(), positions.size(), this->wanted_, places);
    });
  });
}

}  // namespace
}  // namespace spansort::device::host
