// SPDX-License-Identifier: Apache-2.0
// Generated records: their layout, and that each depends on seed and number alone.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "spansort/errors.hpp"
#include "spansort/files.hpp"
#include "spansort/records.hpp"

namespace spansort::test {
namespace {

using bytes = std::vector<std::byte>;

bytes records_from(std::uint64_t first, std::uint64_t count, std::uint64_t seed) {
  bytes records(count * 100);
  generate_records(records, first, seed);
  return records;
}

std::string text_of(const bytes& records, std::uint64_t begin, std::uint64_t count) {
  return {reinterpret_cast<const char*>(&records[begin]), count};
}

TEST(GenerateRecords, HaveTheLayoutOfTheSortBenchmark) {
  const bytes records = records_from(0xabc, 5000, 7);
  std::set<std::string> keys;
  for (std::uint64_t i = 0; i < 5000; ++i) {
    const std::uint64_t begin = i * 100;
    keys.insert(text_of(records, begin, 10));
    EXPECT_EQ(text_of(records, begin + 10, 2), std::string("\0\x11", 2));
    char number[40];
    std::snprintf(number, sizeof(number), "%032llX", static_cast<unsigned long long>(0xabc + i));
    EXPECT_EQ(text_of(records, begin + 12, 32), number);
    EXPECT_EQ(text_of(records, begin + 44, 4), "\x88\x99\xaa\xbb");
    for (std::uint64_t group = begin + 48; group < begin + 96; group += 4) {
      const char digit = static_cast<char>(records[group]);
      EXPECT_NE(std::string("0123456789ABCDEF").find(digit), std::string::npos);
      EXPECT_EQ(text_of(records, group, 4), std::string(4, digit));
    }
    EXPECT_EQ(text_of(records, begin + 96, 4), "\xcc\xdd\xee\xff");
  }
  EXPECT_EQ(keys.size(), 5000u);
}

TEST(GenerateRecords, EveryBitOfTheKeyIsRandom) {
  constexpr int num_records = 4000;
  const bytes records = records_from(0, num_records, 1);
  for (unsigned bit = 0; bit < 80; ++bit) {
    int num_set = 0;
    for (unsigned i = 0; i < num_records; ++i) {
      num_set += (std::to_integer<int>(records[i * 100 + bit / 8]) >> (bit % 8)) & 1;
    }
    EXPECT_NEAR(num_set, num_records / 2, 200) << bit;  // 6 standard deviations
  }
}

TEST(GenerateRecords, DependOnSeedAndNumberAlone) {
  const bytes whole = records_from(0, 3000, 3);
  bytes parts = records_from(0, 1234, 3);
  const bytes rest = records_from(1234, 3000 - 1234, 3);
  parts.insert(parts.end(), rest.begin(), rest.end());
  EXPECT_EQ(parts, whole);
  EXPECT_NE(records_from(0, 3000, 4), whole);
  bytes odd(150);
  EXPECT_THROW(generate_records(odd, 0, 1), invalid_argument);
  EXPECT_NO_THROW(generate_records({}, 0, 1));
}

TEST(GenerateRecords, FilesHoldTheSameRecords) {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("spansort-records-" + std::to_string(::getpid()))).string();
  for (const std::uint64_t count : {0u, 1u, 65536u, 65537u}) {
    generate_records_file(path, count, 5);
    std::ifstream file(path, std::ios::binary);
    const std::string contents((std::istreambuf_iterator<char>(file)), {});
    const bytes expected = records_from(0, count, 5);
    ASSERT_EQ(contents.size(), expected.size());
    EXPECT_TRUE(count == 0 || std::memcmp(contents.data(), expected.data(), contents.size()) == 0) << count;
  }
  std::filesystem::remove(path);
  EXPECT_THROW(generate_records_file(path, std::uint64_t{1} << 60, 5), invalid_argument);
  EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace spansort::test
