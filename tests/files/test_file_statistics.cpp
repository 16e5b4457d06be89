// SPDX-License-Identifier: Apache-2.0
// Order statistics of files: those of the same keys in memory, whether the file is held or read in blocks.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <random>
#include <vector>

#include "base/available_memory.hpp"
#include "files/file_folder.hpp"
#include "spansort/errors.hpp"
#include "spansort/file_statistics.hpp"
#include "support/environment.hpp"

namespace spansort {
namespace {

class file_statistics_test : public testing::Test {
 protected:
  file_statistics_test() {
    std::mt19937_64 random(test::seed_for(1));
    std::normal_distribution<double> next;
    for (double& k : keys_) k = next(random);
    path_ = folder_.write("x.bin", std::as_bytes(std::span(keys_)));
  }

  /// Options below which the file does not fit.
  [[nodiscard]] static file_statistics_options little() {
    return {.type = key_type::f64,
            .memory_limit_bytes = base::resident_memory_bytes() + (std::uint64_t{28} << 20),
            .threads = 2};
  }

  std::vector<double> keys_ = std::vector<double>(2'000'003);
  test::file_folder folder_;
  std::string path_;
};

TEST_F(file_statistics_test, BlocksGiveTheAnswersOfMemory) {
  file_statistics held(path_, {.type = key_type::f64});
  file_statistics streamed(path_, little());
  EXPECT_TRUE(held.is_held());
  EXPECT_FALSE(streamed.is_held());
  EXPECT_EQ(streamed.num_keys(), keys_.size());
  EXPECT_EQ(streamed.type(), key_type::f64);
  EXPECT_EQ(streamed.num_reads(), 0u);
  const std::vector<double> high{0.95, 0.999};
  streamed.expect_quantiles(high);
  const summary box = streamed.summarize();
  const unsigned num_reads = streamed.num_reads();
  EXPECT_LE(num_reads, 3u);
  EXPECT_EQ(streamed.quantiles(high), quantiles(keys_, high));
  EXPECT_EQ(streamed.num_reads(), num_reads);
  const summary expected = summarize(keys_);
  EXPECT_EQ(box.five_numbers(), expected.five_numbers());
  EXPECT_EQ(box.mean, expected.mean);
  EXPECT_EQ(box.outliers, expected.outliers);
  const std::vector<double> edges = equal_width_edges(-5, 5, 100);
  EXPECT_EQ(streamed.histogram(edges), histogram(keys_, edges));
  EXPECT_EQ(streamed.rank_of(&keys_[5]), rank_of(keys_, keys_[5]));
  for (file_statistics* const each : {&held, &streamed}) {
    EXPECT_EQ(each->write_outliers(folder_.path("o.bin"), box), box.num_outliers_below + box.num_outliers_above);
    std::vector<double> outliers;
    std::ranges::copy_if(keys_, std::back_inserter(outliers),
                         [&](double k) { return k < box.whisker_low || k > box.whisker_high; });
    const auto bytes = std::as_bytes(std::span(outliers));
    EXPECT_TRUE(std::ranges::equal(folder_.read("o.bin"), bytes));
  }
}

TEST_F(file_statistics_test, ExtremesThatAreNoDoubles) {
  std::vector<std::int64_t> integers(2'000'003);
  std::mt19937_64 random(test::seed_for(2));
  constexpr std::int64_t low = -(std::int64_t{1} << 53) - 1;
  constexpr std::int64_t high = (std::int64_t{1} << 62) + 1;
  for (std::int64_t& k : integers) k = std::uniform_int_distribution<std::int64_t>(low + 1, high - 1)(random);
  integers[1'000'000] = low;
  integers[7] = high;
  path_ = folder_.write("i.bin", std::as_bytes(std::span(integers)));
  file_statistics_options options = little();
  options.type = key_type::i64;
  for (const summary& box :
       {summarize(integers), summarize(integers, {.devices = "host:3"}), summarize_file(path_, {}, options)}) {
    EXPECT_EQ(static_cast<std::int64_t>(box.minimum_bits), low);
    EXPECT_EQ(static_cast<std::int64_t>(box.maximum_bits), high);
  }
  std::ranges::sort(integers);
  const summary sorted = summarize(integers, {.order = key_order::ascending});
  EXPECT_EQ(static_cast<std::int64_t>(sorted.minimum_bits), low);
  EXPECT_EQ(static_cast<std::int64_t>(sorted.maximum_bits), high);
}

TEST_F(file_statistics_test, OneQuestionTakesOneCall) {
  const std::vector<double> q{0.5};
  EXPECT_EQ(quantiles_file(path_, q, {}, little()), quantiles(keys_, q));
  EXPECT_EQ(summarize_file(path_, {}, little()).median, median(keys_));
  const std::vector<double> edges{-1, 0, 1};
  EXPECT_EQ(histogram_file(path_, edges, {}, little()), histogram(keys_, edges));
}

TEST_F(file_statistics_test, SortedFilesAreReadHereAndThere) {
  std::ranges::sort(keys_, std::greater<>());
  path_ = folder_.write("x.bin", std::as_bytes(std::span(keys_)));
  file_statistics streamed(path_, little());
  const summary box = streamed.summarize({.with_mean = false, .order = key_order::descending});
  EXPECT_EQ(streamed.num_reads(), 0u);
  EXPECT_EQ(box.five_numbers(), summarize(keys_).five_numbers());
  EXPECT_EQ(streamed.rank_of(&keys_[7], {.order = key_order::descending}).num_greater, 7u);
}

TEST_F(file_statistics_test, FilesThatChangeAreNoticed) {
  file_statistics streamed(path_, little());
  static_cast<void>(streamed.summarize());
  std::filesystem::last_write_time(path_, std::filesystem::file_time_type::clock::now() + std::chrono::hours(1));
  const std::vector<double> edges{-0.123, 0.123};
  EXPECT_THROW(static_cast<void>(streamed.histogram(edges)), bad_input);
  std::filesystem::resize_file(path_, 800);
  EXPECT_THROW(static_cast<void>(streamed.histogram(equal_width_edges(-3, 3, 50))), bad_input);
}

TEST_F(file_statistics_test, RefusesWhatCannotBe) {
  file_statistics streamed(path_, little());
  EXPECT_THROW(static_cast<void>(streamed.quantiles({1.5})), invalid_argument);
  EXPECT_THROW(streamed.expect_quantiles(std::vector<double>{-1.0}), invalid_argument);
  EXPECT_THROW(static_cast<void>(streamed.rank_of(nullptr)), invalid_argument);
  EXPECT_THROW(static_cast<void>(streamed.histogram(std::vector<double>{1.0})), invalid_argument);
  EXPECT_THROW(static_cast<void>(streamed.summarize({.whiskers = {.iqr_factor = -1}})), invalid_argument);
  summary box = streamed.summarize();
  ++box.num_outliers_below;  // not of these keys
  EXPECT_THROW(static_cast<void>(streamed.write_outliers(folder_.path("o.bin"), box)), invalid_argument);
  EXPECT_EQ(folder_.num_files(), 1u);
  EXPECT_THROW(file_statistics(path_, {.type = key_type::f64, .memory_limit_bytes = 1000}), out_of_memory);
}

}  // namespace
}  // namespace spansort
