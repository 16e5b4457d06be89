// SPDX-License-Identifier: Apache-2.0
// check_file() says of a file, which it reads by chunks, what check() says of its keys.
#include <gtest/gtest.h>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "files/file_folder.hpp"
#include "keys/codec.hpp"
#include "spansort/errors.hpp"
#include "spansort/files.hpp"
#include "support/engines.hpp"
#include "support/environment.hpp"

namespace spansort {
namespace {

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
    EXPECT_EQ(found.keys.is_in_order, expected.is_in_order);
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
        for (const bool unique : {false, true}) {
          expect_as_check(n, parse_distribution(name), {keys::direction_of(descending), unique});
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, check_file_test, testing::ValuesIn(test::all_key_types()),
                         [](const auto& param) { return std::string(name(param.param)); });

TEST(CheckFile, LargerThanAChunk) {
  constexpr std::uint64_t n = 36'000'000;
  constexpr std::uint64_t chunk = 16 << 20;
  const test::file_folder folder;
  std::vector<std::uint8_t> keys(n);
  for (std::uint64_t i = 0; i < n; ++i) keys[i] = static_cast<std::uint8_t>(i * 200 / n);
  keys[chunk] = 0;  // the first of the second chunk
  keys[2 * chunk - 1] = 0;
  folder.write("x", std::as_bytes(std::span(keys)));
  const file_check found = check_file(folder.path("x"), key_type::u8);
  const check_result expected = check(as_const_key_span(std::span<const std::uint8_t>(keys)));
  EXPECT_EQ(expected.first_disorder, chunk);
  EXPECT_EQ(found.keys.first_disorder, expected.first_disorder);
  EXPECT_EQ(found.keys.num_duplicates, expected.num_duplicates);
  EXPECT_EQ(found.keys.checksum, expected.checksum);
  EXPECT_EQ(found.left_neighbour, std::to_string(keys[chunk - 1]));
}

TEST(CheckFile, RefusesWhatIsNotThere) {
  EXPECT_THROW(static_cast<void>(check_file("/nonexistent", key_type::u8)), io_error);
  EXPECT_THROW(static_cast<void>(check_file("/dev/null")), invalid_argument);
}

}  // namespace
}  // namespace spansort
