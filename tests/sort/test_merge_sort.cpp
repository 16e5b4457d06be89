// SPDX-License-Identifier: Apache-2.0
// sort() and sort_by_key() by a comparison: against std::stable_sort, and with comparisons that are no order or throw.
#include "spansort/merge_sort.hpp"

#include <gtest/gtest.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_group.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "spansort/errors.hpp"
#include "support/environment.hpp"

namespace spansort {
namespace {

/// An element of any size, whose position in the input says whether a sort is stable.
template <std::size_t num_words>
struct element {
  std::uint32_t key = 0;
  std::uint32_t position = 0;
  std::array<std::uint32_t, num_words> payload{};
  friend bool operator==(const element&, const element&) = default;
};

template <class T>
std::vector<T> make_elements(std::size_t count, std::uint64_t num_values, std::uint64_t seed) {
  test::random_words random(seed);
  std::vector<T> elements(count);
  for (std::size_t i = 0; i < count; ++i) {
    elements[i].key = static_cast<std::uint32_t>(random.below(num_values));
    elements[i].position = static_cast<std::uint32_t>(i);
    for (std::uint32_t& word : elements[i].payload) word = elements[i].key * 3 + elements[i].position;
  }
  return elements;
}

constexpr auto by_key = [](const auto& a, const auto& b) { return a.key < b.key; };

template <class T>
class merge_sort_test : public testing::Test {};
using element_types = testing::Types<element<0>, element<1>, element<6>, element<63>>;
TYPED_TEST_SUITE(merge_sort_test, element_types);

TYPED_TEST(merge_sort_test, IsStdStableSort) {
  for (const std::size_t count : {0u, 1u, 2u, 3u, 4u, 5u, 9u, 31u, 64u, 100u, 2047u, 2048u, 4099u, 50'000u, 300'001u}) {
    if (count * sizeof(TypeParam) > std::size_t{32} << 20 || (test::is_small_scale() && count > 50'000)) continue;
    for (const std::uint64_t num_values : {1ull, 2ull, 100ull, 1ull << 32}) {
      const std::uint64_t seed = test::seed_for(count + num_values);
      std::vector<TypeParam> elements = make_elements<TypeParam>(count, num_values, seed);
      std::vector<TypeParam> expected = elements;
      std::ranges::stable_sort(expected, by_key);
      spansort::sort(elements, by_key);
      ASSERT_EQ(elements, expected) << count << " elements of " << num_values << " values, seed " << seed;
      spansort::sort_by_key(elements, &TypeParam::position);
      ASSERT_EQ(elements, make_elements<TypeParam>(count, num_values, seed));
      spansort::sort(elements.begin(), elements.end(), by_key, {.threads = 1});
      ASSERT_EQ(elements, expected);
    }
  }
}

/// Every shape that is in order somewhere: the merges that copy, and tiles that are done when they are looked at.
TEST(MergeSort, InputsInOrder) {
  constexpr std::size_t count = 200'000;
  for (const std::size_t period : {1u, 7u, 1000u, 65'536u, 200'000u}) {
    for (const bool descends : {false, true}) {
      std::vector<element<1>> elements = make_elements<element<1>>(count, 1, 1);
      for (std::size_t i = 0; i < count; ++i) {
        const std::size_t step = i % period;
        elements[i].key = static_cast<std::uint32_t>(descends ? period - step : step);
      }
      std::vector<element<1>> expected = elements;
      std::ranges::stable_sort(expected, by_key);
      spansort::sort(elements, by_key);
      ASSERT_EQ(elements, expected) << "period " << period << (descends ? ", falling" : ", rising");
    }
  }
}

TEST(MergeSort, Projections) {
  std::vector<std::string_view> words{"pear", "fig", "apple", "kiwi", "plum"};
  sort_by_key(words, &std::string_view::size);
  EXPECT_EQ(words, (std::vector<std::string_view>{"fig", "pear", "kiwi", "plum", "apple"}));
  spansort::sort(words, std::less<>{});
  EXPECT_TRUE(std::ranges::is_sorted(words));
  sort_by_key(
      words, [](std::string_view word) { return word.back(); }, std::greater<>{});
  EXPECT_EQ(words.front(), "pear");
}

/// std::less of integers goes by digits; the results are the same.
TEST(MergeSort, IntegersByLessAndGreater) {
  test::random_words random(test::seed_for(1));
  std::vector<std::int64_t> keys(100'000);
  for (std::int64_t& key : keys) key = static_cast<std::int64_t>(random());
  std::vector<std::int64_t> expected = keys;
  std::ranges::sort(expected, std::greater<>{});
  spansort::sort(keys, std::greater<>{});
  EXPECT_EQ(keys, expected);
  std::ranges::reverse(expected);
  spansort::sort(keys, std::less<>{}, {.threads = 1});
  EXPECT_EQ(keys, expected);
  spansort::sort(keys, [](std::int64_t a, std::int64_t b) { return a % 1000 < b % 1000; });
  std::ranges::stable_sort(expected, {}, [](std::int64_t key) { return key % 1000; });
  EXPECT_EQ(keys, expected);
}

/// Returns the positions that are there, each once.
std::vector<std::uint32_t> positions_of(const std::vector<element<1>>& elements) {
  std::vector<std::uint32_t> positions;
  for (const element<1>& e : elements) {
    EXPECT_EQ(e.payload[0], e.key * 3 + e.position) << "an element is torn";
    positions.push_back(e.position);
  }
  std::ranges::sort(positions);
  return positions;
}

void expect_all_there(const std::vector<element<1>>& elements) {
  const std::vector<std::uint32_t> positions = positions_of(elements);
  for (std::uint32_t i = 0; i < positions.size(); ++i) ASSERT_EQ(positions[i], i) << "an element is lost";
}

TEST(MergeSort, AComparisonThatThrowsLosesNothing) {
  for (const std::size_t count : {10u, 3000u, 200'000u}) {
    std::vector<element<1>> elements = make_elements<element<1>>(count, 1000, test::seed_for(count));
    std::atomic<std::uint64_t> num_calls{0};
    spansort::sort(std::span(elements), [&](const element<1>& a, const element<1>& b) {
      num_calls.fetch_add(1, std::memory_order_relaxed);
      return a.key < b.key;
    });
    const std::uint64_t most = num_calls.load();
    for (const double fraction : {0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99}) {
      elements = make_elements<element<1>>(count, 1000, test::seed_for(count));
      const auto at = static_cast<std::uint64_t>(fraction * static_cast<double>(most)) + 1;
      num_calls = 0;
      const auto throws = [&](const element<1>& a, const element<1>& b) {
        if (num_calls.fetch_add(1, std::memory_order_relaxed) + 1 == at) throw std::runtime_error("no more");
        return a.key < b.key;
      };
      EXPECT_THROW(spansort::sort(elements, throws), std::runtime_error) << count << " elements, call " << at;
      expect_all_there(elements);
    }
  }
}

/// A hash of two elements: neither antisymmetric nor transitive.
bool is_no_order(const element<1>& a, const element<1>& b) {
  return ((a.key * 2654435761u + a.position * 40503u) ^ (b.key * 97u + b.position * 2246822519u)) % 3 == 0;
}

TEST(MergeSort, WhatIsNoOrderEndsAndLosesNothing) {
  for (const std::size_t count : {2u, 5u, 16u, 1000u, 5000u, 400'000u}) {
    const std::vector<element<1>> input = make_elements<element<1>>(count, 1 << 20, test::seed_for(count));
    std::vector<element<1>> elements = input;
    spansort::sort(elements, is_no_order);
    expect_all_there(elements);
    elements = input;
    spansort::sort(elements, [](const element<1>&, const element<1>&) { return true; });
    expect_all_there(elements);
    elements = input;
    spansort::sort(elements, [](const element<1>& a, const element<1>& b) { return a.key <= b.key; });
    expect_all_there(elements);
  }
}

TEST(MergeSort, TooLittleMemoryIsRefused) {
  const std::vector<element<6>> input = make_elements<element<6>>(10'000, 100, 1);
  std::vector<element<6>> elements = input;
  EXPECT_THROW(spansort::sort(elements, by_key, {.memory_limit_bytes = 1000}), out_of_memory);
  EXPECT_EQ(elements, input);
  EXPECT_THROW(spansort::sort(elements, by_key, {.threads = 5000}), invalid_argument);
  EXPECT_EQ(elements, input);
  spansort::sort(elements, by_key, {.memory_limit_bytes = 10'000 * sizeof(element<6>)});
  EXPECT_TRUE(std::ranges::is_sorted(elements, by_key));
}

/// An element of any number of bytes.
template <std::size_t size>
struct odd_element {
  std::array<unsigned char, size> bytes;
};

template <std::size_t size>
void expect_sorted_odd_elements(std::size_t count) {
  test::random_words random(test::seed_for(size));
  std::vector<odd_element<size>> elements(count);
  for (auto& e : elements) {
    for (unsigned char& byte : e.bytes) byte = static_cast<unsigned char>(random());
  }
  std::vector<odd_element<size>> expected = elements;
  const auto by_first = [](const auto& a, const auto& b) { return a.bytes[0] < b.bytes[0]; };
  std::ranges::stable_sort(expected, by_first);
  spansort::sort(elements, by_first);
  for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(elements[i].bytes, expected[i].bytes) << size << " bytes, " << i;
}

TEST(MergeSort, ElementsOfOddSizes) {
  expect_sorted_odd_elements<1>(200'000);
  expect_sorted_odd_elements<3>(100'000);
  expect_sorted_odd_elements<255>(20'000);
  expect_sorted_odd_elements<40'000>(100);  // more than a tile
}

struct alignas(64) aligned_element {
  std::uint32_t key;
};

TEST(MergeSort, ElementsAreAlignedWhereverTheyAreCompared) {
  std::vector<aligned_element> elements(100'000);
  for (std::uint32_t i = 0; i < elements.size(); ++i) elements[i].key = i * 2654435761U;
  std::atomic<bool> is_misaligned{false};
  spansort::sort(elements, [&](const aligned_element& a, const aligned_element& b) {
    const auto addresses = reinterpret_cast<std::uintptr_t>(&a) | reinterpret_cast<std::uintptr_t>(&b);
    if (addresses % alignof(aligned_element) != 0) is_misaligned = true;
    return a.key < b.key;
  });
  EXPECT_FALSE(is_misaligned);
  EXPECT_TRUE(std::ranges::is_sorted(elements, {}, &aligned_element::key));
}

/// The caller's tasks may be cancelled; a sort that has begun is finished all the same.
TEST(MergeSort, ACallersCancelledTasksChangeNothing) {
  for (int round = 0; round < 5; ++round) {
    std::vector<element<1>> elements = make_elements<element<1>>(200'000, 1000, test::seed_for(1));
    tbb::task_group_context context;
    std::atomic<std::uint64_t> num_calls{0};
    tbb::parallel_for(
        0, 1,
        [&](int) {
          spansort::sort(elements, [&](const element<1>& a, const element<1>& b) {
            if (num_calls.fetch_add(1, std::memory_order_relaxed) == 1000) context.cancel_group_execution();
            return a.key < b.key;
          });
        },
        context);
    EXPECT_TRUE(std::ranges::is_sorted(elements, by_key));
  }
}

struct with_member_order {
  int key;
  [[nodiscard]] bool before(const with_member_order& other) const { return key < other.key; }
};

TEST(MergeSort, WhateverStdInvokeCalls) {
  std::vector<with_member_order> elements{{3}, {1}, {2}};
  spansort::sort(elements, &with_member_order::before);
  EXPECT_TRUE(std::ranges::is_sorted(elements, {}, &with_member_order::key));
  sort_by_key(elements.begin(), elements.end(), &with_member_order::key, std::greater<>{});
  EXPECT_EQ(elements.front().key, 3);
}

TEST(MergeSort, ArgumentsOfSmallInputsAreCheckedToo) {
  std::vector<with_member_order> elements{{3}, {1}, {2}};
  EXPECT_THROW(spansort::sort(elements, &with_member_order::before, {.threads = 5000}), invalid_argument);
  EXPECT_EQ(elements.front().key, 3);
}

/// What cannot be assigned is moved as bytes, as std::sort could not.
struct unassignable {
  const int key;
};

TEST(MergeSort, ElementsThatCannotBeAssigned) {
  std::vector<unassignable> elements;
  for (int i = 0; i < 1000; ++i) elements.push_back({(i * 37) % 1000});
  spansort::sort(elements, [](const unassignable& a, const unassignable& b) { return a.key < b.key; });
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(elements[static_cast<std::size_t>(i)].key, i);
}

}  // namespace
}  // namespace spansort
