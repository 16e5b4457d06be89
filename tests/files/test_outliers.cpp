// SPDX-License-Identifier: Apache-2.0
// write_outliers(): the keys beyond the whiskers, all of them, in input order.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "spansort/errors.hpp"
#include "spansort/files.hpp"
#include "support/environment.hpp"

namespace spansort {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

class outliers_test : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directory(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  /// Returns what the file holds afterwards, read by the library.
  template <class K>
  std::vector<K> written(const std::vector<K>& keys, const summary& box) {
    const key_span all{key_traits<K>::type, const_cast<K*>(keys.data()), keys.size()};
    const std::uint64_t count = write_outliers(output_, all, box);
    const key_file file(output_);
    EXPECT_EQ(file.keys().num_keys, count);
    EXPECT_EQ(file.keys().type, all.type);
    std::vector<K> result(count);
    if (count != 0) std::memcpy(result.data(), file.keys().data, count * sizeof(K));
    return result;
  }

  std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("spansort-outliers-" + std::to_string(::getpid()));
  std::string output_ = folder_ / "out.npy";
};

template <class K>
std::vector<K> beyond(const std::vector<K>& keys, const summary& box) {
  std::vector<K> result;
  for (const K k : keys) {
    const auto value = static_cast<double>(k);
    if (value < box.whisker_low || value > box.whisker_high) result.push_back(k);
  }
  return result;
}

TEST_F(outliers_test, AllInInputOrder) {
  std::mt19937_64 random(test::seed_for(1));
  std::cauchy_distribution<double> heavy;
  // Blocks of 2^16 are copied beside each other: none, one, several, with a rest.
  for (const std::size_t n : {1u, 2u, 1000u, 65535u, 65536u, 65537u, 200001u}) {
    std::vector<double> doubles(n);
    for (double& d : doubles) d = heavy(random);
    const summary box = summarize(doubles, {.most_outliers = 10});
    EXPECT_EQ(written(doubles, box), beyond(doubles, box)) << n;
    EXPECT_EQ(written(doubles, box).size(), box.num_outliers_below + box.num_outliers_above);

    std::vector<std::int64_t> integers(n);
    for (std::size_t i = 0; i < n; ++i)
      integers[i] = static_cast<std::int64_t>(std::clamp(doubles[i], -1e6, 1e6) * 1e12);
    const summary of_integers = summarize(integers);
    EXPECT_EQ(written(integers, of_integers), beyond(integers, of_integers)) << n;
  }
}

TEST_F(outliers_test, NaNIsNone) {
  std::vector<float> keys{1, 2, 3, 4, 100, std::numeric_limits<float>::quiet_NaN(), -100};
  EXPECT_EQ(written(keys, summarize(keys, {.nans = nan_policy::omit})), (std::vector<float>{100, -100}));
  // Where it makes all statistics NaN, nothing is known to be beyond.
  EXPECT_TRUE(written(keys, summarize(keys)).empty());
  summary of_nothing;
  of_nothing.whisker_low = of_nothing.whisker_high = nan;
  EXPECT_TRUE(written(std::vector<float>{}, of_nothing).empty());
}

TEST_F(outliers_test, InfinitiesAre) {
  const double infinity = std::numeric_limits<double>::infinity();
  const std::vector<double> keys{infinity, 1, 2, 3, 4, 5, 6, 7, 8, -infinity};
  EXPECT_EQ(written(keys, summarize(keys)), (std::vector<double>{infinity, -infinity}));
}

TEST_F(outliers_test, RawByItsName) {
  const std::vector<std::uint16_t> keys{1, 1, 1, 1, 1, 1, 0x1234, 1, 1};
  const std::string raw = folder_ / "out.bin";
  EXPECT_EQ(write_outliers(raw, as_const_key_span(std::span(keys)), summarize(keys)), 1u);
  std::ifstream in(raw, std::ios::binary);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), "\x34\x12");
}

TEST_F(outliers_test, AFileThatCannotBeWrittenStaysAsItIs) {
  const std::vector<double> keys{1, 2, 3};
  EXPECT_THROW(write_outliers(folder_ / "missing" / "x.npy", as_const_key_span(std::span(keys)), summarize(keys)),
               io_error);
}

}  // namespace
}  // namespace spansort
