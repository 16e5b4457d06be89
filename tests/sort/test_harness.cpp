// SPDX-License-Identifier: Apache-2.0
// The harness must be able to fail: wrong results, lost pairs, instability and writes outside are all named.
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "support/engines.hpp"
#include "support/guarded_array.hpp"
#include "support/oracle.hpp"

namespace spansort::test {
namespace {

TEST(Harness, NamesTheFirstWrongElement) {
  const std::vector<std::byte> expected{std::byte{1}, std::byte{0}, std::byte{2}, std::byte{0}};
  std::vector<std::byte> actual = expected;
  EXPECT_EQ(diagnose_bytes("key", expected, actual, 2), "");
  actual[3] = std::byte{9};
  EXPECT_EQ(diagnose_bytes("key", expected, actual, 2), "key 1 of 2: expected 0002, found 0902");
  actual.pop_back();
  EXPECT_NE(diagnose_bytes("key", expected, actual, 2), "");
}

TEST(Harness, FailsATestOfAWrongResult) {
  EXPECT_NONFATAL_FAILURE(
      {
        const std::vector<std::byte> expected(8, std::byte{1});
        std::vector<std::byte> actual = expected;
        actual[5] = std::byte{2};
        EXPECT_EQ(diagnose_bytes("key", expected, actual, 4), "");
      },
      "key 1 of 2");
}

TEST(Harness, SeesASorterThatSortsTheOtherWay) {
  const oracle expected = make_oracle(key_type::u32, 100, {distribution_kind::uniform}, 1, false);
  sorter wrong(sort_options{.devices = "cpu"});
  for (const operation& op : {operation{operation::kind::keys}, operation{operation::kind::pairs, 4},
                              operation{operation::kind::argsort, 8}}) {
    EXPECT_NE(diagnose_sort(wrong, expected, direction::descending, op), "") << describe(op);
  }
}

TEST(Harness, OracleIsStable) {
  const std::vector<std::uint8_t> keys{3, 1, 3, 1};
  const oracle up(as_const_key_span(std::span(keys)), false);
  const oracle down(as_const_key_span(std::span(keys)), true);
  EXPECT_EQ(up.order(), (std::vector<std::uint64_t>{1, 3, 0, 2}));
  EXPECT_EQ(down.order(), (std::vector<std::uint64_t>{0, 2, 1, 3}));
}

TEST(Harness, RedZonesShowWritesOnBothSides) {
  for (const std::uint64_t misalignment : {0, 1, 8}) {
    guarded_array before(100, misalignment);
    EXPECT_EQ(before.corruption(), "");
    std::fill_n(before.data(), 100, std::byte{0});
    EXPECT_EQ(before.corruption(), "");
    *(before.data() - 1) ^= std::byte{1};
    EXPECT_EQ(before.corruption(), "byte 1 before the array was written");
    guarded_array behind(100, misalignment);
    *(behind.data() + 100) ^= std::byte{1};
    EXPECT_EQ(behind.corruption(), "byte 0 behind the array was written");
  }
}

TEST(Harness, ValuesTellTheirIndex) {
  const auto values = input_values(300, 3);
  EXPECT_EQ(std::to_integer<int>(values[3 * 258]), 2);
  EXPECT_EQ(std::to_integer<int>(values[3 * 258 + 1]), 1);
  const auto wide = input_values(300, 24);
  for (std::size_t i = 1; i < 300; ++i) EXPECT_FALSE(std::equal(&wide[24 * i + 8], &wide[24 * i] + 24, &wide[8])) << i;
}

}  // namespace
}  // namespace spansort::test
