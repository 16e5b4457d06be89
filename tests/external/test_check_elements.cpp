// SPDX-License-Identifier: Apache-2.0
// The checker by pieces, against the checker of the whole.
#include <gtest/gtest.h>

#include "external/element_case.hpp"
#include "external/file_folder.hpp"
#include "external/simple_order.hpp"
#include "files/external/check_elements.hpp"
#include "keys/codec.hpp"
#include "spansort/errors.hpp"
#include "spansort/files.hpp"
#include "support/engines.hpp"

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

TEST(CheckElements, FindsTheFirstDisorderWhereverPiecesEnd) {
  constexpr std::uint64_t n = 20;
  const test::tagged_order order;
  for (std::uint64_t disorder = 1; disorder <= n; ++disorder) {  // n: none
    const std::vector<tagged_number> elements = numbers(n, disorder);
    const auto* const bytes = reinterpret_cast<const std::byte*>(elements.data());
    for (std::uint64_t piece = 1; piece <= n + 1; ++piece) {
      test::memory_source source(elements);
      const auto found = external::check_elements(source, sizeof(tagged_number), piece, check_of(order, false));
      EXPECT_EQ(found.whole.num_keys, n);
      EXPECT_EQ(found.whole.first_disorder, disorder == n ? std::nullopt : std::optional(disorder));
      EXPECT_EQ(found.whole.num_duplicates, order.num_duplicates(nullptr, bytes, n));
      EXPECT_EQ(found.whole.checksum, order.checksum(bytes, n));
      EXPECT_EQ(found.disordered, disorder == n ? std::vector<std::byte>() : bytes_of(elements[disorder]));
      EXPECT_EQ(found.left_neighbour, disorder == n ? std::vector<std::byte>() : bytes_of(elements[disorder - 1]));
    }
  }
}

TEST(CheckElements, UniqueCountsEqualNeighbours) {
  const test::tagged_order order;
  for (std::uint64_t piece = 1; piece < 6; ++piece) {
    test::memory_source source(numbers(5, 5));
    const auto found = external::check_elements(source, sizeof(tagged_number), piece, check_of(order, true));
    EXPECT_EQ(found.whole.first_disorder, 1u);
  }
}

class check_file_test : public testing::TestWithParam<key_type> {
 protected:
  void expect_as_check(std::uint64_t n, const distribution& d, const check_options& options) {
    const auto keys = test::make_keys(GetParam(), n, d, test::seed_for(n));
    folder_.write("x", std::as_bytes(std::span(keys.data(), n * size_bytes(GetParam()))));
    const const_key_span span(GetParam(), keys.data(), n);
    const check_result expected = check(span, options);
    const file_check found = check_file(folder_.path("x"), GetParam(), options);
    EXPECT_EQ(found.type, GetParam());
    EXPECT_EQ(found.keys.num_keys, n);
    EXPECT_EQ(found.keys.num_duplicates, expected.num_duplicates);
    EXPECT_EQ(found.keys.first_disorder, expected.first_disorder);
    EXPECT_EQ(found.keys.checksum, expected.checksum);
    const auto text = [&](std::uint64_t before) {
      return expected.first_disorder ? key_to_string(span, *expected.first_disorder - before) : "";
    };
    EXPECT_EQ(found.disordered, text(0));
    EXPECT_EQ(found.left_neighbour, text(1));
  }

  test::file_folder folder_;
};

TEST_P(check_file_test, SaysWhatCheckSays) {
  for (const std::uint64_t n : {0, 1, 2, 1000}) {
    for (const char* const name : {"sorted", "uniform", "special-floats", "zero"}) {
      for (const bool descending : {false, true}) {
        for (const bool unique : {false, true})
          expect_as_check(n, parse_distribution(name), {keys::direction_of(descending), unique});
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, check_file_test, testing::ValuesIn(test::all_key_types()),
                         [](const auto& param) { return std::string(name(param.param)); });

TEST(CheckFile, LargerThanAPiece) {
  constexpr std::uint64_t n = 36'000'000;
  constexpr std::uint64_t piece = 16 << 20;
  const test::file_folder folder;
  std::vector<std::uint8_t> keys(n);
  for (std::uint64_t i = 0; i < n; ++i) keys[i] = static_cast<std::uint8_t>(i * 200 / n);
  keys[piece] = 0;  // the first of the second piece
  keys[2 * piece - 1] = 0;
  folder.write("x", std::as_bytes(std::span(keys)));
  const file_check found = check_file(folder.path("x"), key_type::u8);
  const check_result expected = check(as_const_key_span(std::span<const std::uint8_t>(keys)));
  EXPECT_EQ(expected.first_disorder, piece);
  EXPECT_EQ(found.keys.first_disorder, expected.first_disorder);
  EXPECT_EQ(found.keys.num_duplicates, expected.num_duplicates);
  EXPECT_EQ(found.keys.checksum, expected.checksum);
  EXPECT_EQ(found.left_neighbour, std::to_string(keys[piece - 1]));
}

TEST(CheckFile, RefusesWhatIsNotThere) {
  EXPECT_THROW(static_cast<void>(check_file("/nonexistent", key_type::u8)), io_error);
  EXPECT_THROW(static_cast<void>(check_file("/dev/null")), invalid_argument);
}

}  // namespace
}  // namespace spansort
