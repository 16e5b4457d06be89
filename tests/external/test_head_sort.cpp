// SPDX-License-Identifier: Apache-2.0
// The first K elements, against the whole that is sorted.
#include <algorithm>

#include <gtest/gtest.h>

#include "external/simple_order.hpp"
#include "files/external/head_sort.hpp"
#include "spansort/errors.hpp"
#include "support/environment.hpp"

namespace spansort::external {
namespace {

using test::tagged_number;

enum class shape : std::uint8_t { random, few_values, ascending, descending, equal };
constexpr shape all_shapes[] = {shape::random, shape::few_values, shape::ascending, shape::descending, shape::equal};

std::uint32_t number_at(shape s, std::uint64_t i, std::uint64_t n, test::random_words& words) {
  switch (s) {
    case shape::few_values: return static_cast<std::uint32_t>(words.below(3));
    case shape::ascending: return static_cast<std::uint32_t>(i / 2);
    case shape::descending: return static_cast<std::uint32_t>((n - i) / 2);
    case shape::equal: return 7;
    default: return static_cast<std::uint32_t>(words());
  }
}

std::vector<tagged_number> make_elements(shape s, std::uint64_t n) {
  test::random_words words(test::seed_for(n));
  std::vector<tagged_number> elements(n);
  for (std::uint64_t i = 0; i < n; ++i) elements[i] = {number_at(s, i, n, words), static_cast<std::uint32_t>(i)};
  return elements;
}

/// Returns the head by its definition: sorts all, drops duplicates, cuts.
std::vector<tagged_number> expected_head(std::vector<tagged_number> all, const head_request& request) {
  std::ranges::stable_sort(all, {}, &tagged_number::number);
  if (request.unique) {
    const auto rest = std::ranges::unique(all, {}, &tagged_number::number);
    all.erase(rest.begin(), rest.end());
  }
  all.resize(std::min<std::uint64_t>(all.size(), request.num_wanted));
  return all;
}

void expect_head(const std::vector<tagged_number>& elements, const head_request& request) {
  test::memory_source source(elements);
  test::tagged_order order;
  test::memory_sink sink;
  const head_result result = write_head(source, order, request, sink);
  const std::vector<tagged_number> expected = expected_head(elements, request);
  EXPECT_EQ(sink.written, expected);
  EXPECT_EQ(sink.num_expected, expected.size());
  EXPECT_FALSE(sink.is_finished);
  EXPECT_EQ(result.num_read, elements.size());
  EXPECT_EQ(result.num_kept, expected.size());
}

TEST(BoundedHead, IsTheBeginOfTheSortedWhole) {
  for (const shape s : all_shapes) {
    for (const std::uint64_t n : {0, 1, 2, 3, 64, 1000}) {
      const std::vector<tagged_number> elements = make_elements(s, n);
      for (const std::uint64_t wanted :
           {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{2}, n / 3, n, n + 1, 2 * n}) {
        for (const std::uint64_t more : {0, 1, 5, 3000}) {
          for (const bool unique : {false, true}) {
            SCOPED_TRACE(testing::Message() << "shape " << static_cast<int>(s) << ", n " << n << ", K " << wanted
                                            << ", more " << more << (unique ? ", unique" : ""));
            expect_head(elements, {wanted, std::max<std::uint64_t>(2 * wanted, 2) + more, unique});
          }
        }
      }
    }
  }
}

TEST(BoundedHead, SortsLittleOfRandomInput) {
  constexpr std::uint64_t n = 100'000;
  test::memory_source source(make_elements(shape::random, n));
  test::tagged_order order;
  test::memory_sink sink;
  write_head(source, order, {100, 1000}, sink);
  // About K ln(n / K) of random elements are ever among the first K.
  EXPECT_LT(order.num_sorted, n / 10);
}

TEST(BoundedHead, KeepsInputOrderOverManySlices) {
  // One read fills many tasks' slices, most of each is dropped.
  constexpr std::uint64_t n = 300'000;
  for (const shape s : {shape::random, shape::few_values, shape::descending}) {
    expect_head(make_elements(s, n), {1000, 130'000, false});
    expect_head(make_elements(s, n), {40'000, 80'000, false});
  }
}

TEST(BoundedHead, DoesBoundedWorkOnTheWorstInput) {
  constexpr std::uint64_t n = 100'000;
  test::memory_source source(make_elements(shape::descending, n));
  test::tagged_order order;
  test::memory_sink sink;
  write_head(source, order, {100, 200}, sink);
  EXPECT_LT(order.num_sorted, 5 * n);
}

TEST(BoundedHead, NeedsTwiceTheMemory) {
  test::memory_source source({});
  test::tagged_order order;
  test::memory_sink sink;
  for (const head_request& request : {head_request{10, 19}, head_request{0, 1}, head_request{0, 0},
                                      head_request{~std::uint64_t{0}, ~std::uint64_t{0}}}) {
    EXPECT_THROW(write_head(source, order, request, sink), invalid_argument);
  }
}

}  // namespace
}  // namespace spansort::external
