// SPDX-License-Identifier: Apache-2.0
// The checker by chunks, against the checker of the whole.
#include <gtest/gtest.h>

#include <cstddef>
#include <span>
#include <vector>

#include "external/simple_order.hpp"
#include "files/external/check_elements.hpp"

namespace spansort {
namespace {

using test::tagged_number;

std::vector<std::byte> bytes_of(const tagged_number& element) {
  const auto bytes = std::as_bytes(std::span(&element, 1));
  return {bytes.begin(), bytes.end()};
}

/// Numbers in order, each twice, but for the one at `disorder`.
std::vector<tagged_number> numbers(std::uint64_t n, std::uint64_t disorder) {
  std::vector<tagged_number> elements(n);
  for (std::uint32_t i = 0; i < n; ++i) elements[i] = {i == disorder ? 0 : 10 + i / 2, i};
  return elements;
}

TEST(CheckElements, FindsTheFirstDisorderWhereverChunksEnd) {
  constexpr std::uint64_t n = 20;
  const test::tagged_order order;
  for (std::uint64_t disorder = 1; disorder <= n; ++disorder) {  // n: none
    const std::vector<tagged_number> elements = numbers(n, disorder);
    const auto* const bytes = reinterpret_cast<const std::byte*>(elements.data());
    for (std::uint64_t chunk = 1; chunk <= n + 1; ++chunk) {
      test::memory_source source(elements);
      const auto found = external::check_elements(source, sizeof(tagged_number), chunk, check_of(order, false));
      EXPECT_EQ(found.whole.num_keys, n);
      EXPECT_EQ(found.whole.first_disorder, disorder == n ? std::nullopt : std::optional(disorder));
      EXPECT_EQ(found.whole.num_duplicates, order.num_duplicates(nullptr, bytes, n));
      EXPECT_EQ(found.whole.checksum, order.checksum(bytes, n));
      EXPECT_EQ(found.whole.is_in_order, disorder == n);
      test::memory_source again(elements);
      const auto unique = external::check_elements(again, sizeof(tagged_number), chunk, check_of(order, true));
      EXPECT_TRUE(unique.whole.first_disorder.has_value());  // each number stands there twice
      EXPECT_EQ(unique.whole.is_in_order, disorder == n);
      EXPECT_EQ(found.disordered, disorder == n ? std::vector<std::byte>() : bytes_of(elements[disorder]));
      EXPECT_EQ(found.left_neighbour, disorder == n ? std::vector<std::byte>() : bytes_of(elements[disorder - 1]));
    }
  }
}

TEST(CheckElements, UniqueCountsEqualNeighbours) {
  const test::tagged_order order;
  for (std::uint64_t chunk = 1; chunk < 6; ++chunk) {
    test::memory_source source(numbers(5, 5));
    const auto found = external::check_elements(source, sizeof(tagged_number), chunk, check_of(order, true));
    EXPECT_EQ(found.whole.first_disorder, 1u);
  }
}

}  // namespace
}  // namespace spansort
