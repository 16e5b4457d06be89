// SPDX-License-Identifier: Apache-2.0
// Reports of operations inside each other: the outermost one begins the report, sorts inside add to it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "files/file_folder.hpp"
#include "report/open_report.hpp"
#include "spansort/errors.hpp"
#include "spansort/files.hpp"
#include "spansort/report.hpp"
#include "spansort/sort.hpp"

namespace spansort {
namespace {

std::vector<std::string> phase_names(const sort_report& report) {
  std::vector<std::string> names;
  for (const phase_report& phase : report.phases) names.push_back(phase.name);
  return names;
}

std::vector<std::uint32_t> falling_keys(std::uint32_t count) {
  std::vector<std::uint32_t> keys(count);
  for (std::uint32_t i = 0; i < count; ++i) keys[i] = (count - i) * 2654435761u;
  return keys;
}

TEST(FileReport, SortsInsideAddToAnOpenReport) {
  sort_report report;
  sorter own({.devices = "host:3", .algorithm = algorithm::rmg, .report = &report});
  std::vector<std::uint32_t> keys = falling_keys(50'000);
  {
    report::open_report open(&report, "outer");
    open.add_phase("before", 1, 2);
    own.sort(as_key_span(std::span(keys)));
    const std::vector<std::string> names = phase_names(report);
    const std::size_t num_activities = report.timeline.size();
    EXPECT_EQ(names.front(), "before");
    EXPECT_GT(names.size(), 1u);
    EXPECT_EQ(report.num_open, 1u);

    keys = falling_keys(50'000);
    own.sort(as_key_span(std::span(keys)));
    EXPECT_EQ(phase_names(report), names) << "a phase of the same name takes the numbers in";
    EXPECT_GT(report.timeline.size(), num_activities);
    EXPECT_EQ(report.ranks.size(), 3u);
    open.finish();
  }
  EXPECT_EQ(report.operation, "outer");
  EXPECT_EQ(report.num_open, 0u);
  own.sort(as_key_span(std::span(keys)));
  EXPECT_EQ(report.operation, "sort");
  EXPECT_NE(phase_names(report).front(), "before");
}

class file_report_test : public testing::Test {
 protected:
  void SetUp() override {
    const std::vector<std::uint32_t> keys = falling_keys(50'000);
    folder_.write("x", std::as_bytes(std::span(keys)));
  }
  [[nodiscard]] sort_options options() {
    return {.devices = "host:2", .algorithm = algorithm::rmg, .report = &report_};
  }

  test::file_folder folder_;
  sort_report report_;
};

TEST_F(file_report_test, TheSortStandsBetweenReadingAndWriting) {
  sort_file(folder_.path("x"), folder_.path("y"), {.type = key_type::u32}, options());
  EXPECT_EQ(report_.operation, "sort");
  argsort_file(folder_.path("x"), folder_.path("y"), {.type = key_type::u32}, options());
  EXPECT_EQ(report_.operation, "argsort");
  EXPECT_EQ(report_.algorithm, "rmg");
  EXPECT_EQ(report_.num_keys, 50'000u);
  const std::vector<std::string> names = phase_names(report_);
  ASSERT_GT(names.size(), 2u);
  EXPECT_EQ(names.front(), "read");
  EXPECT_EQ(names.back(), "write");
  EXPECT_EQ(std::ranges::count(names, "sort"), 0);
  EXPECT_EQ(report_.phases.front().bytes_moved, 50'000u * sizeof(std::uint32_t));
  EXPECT_EQ(report_.num_open, 0u);
}

TEST_F(file_report_test, AFailureClosesTheReport) {
  EXPECT_THROW(sort_file(folder_.path("x"), folder_.path("no/y"), {.type = key_type::u32}, options()), io_error);
  EXPECT_EQ(report_.num_open, 0u);
  sort_options stopped = options();
  stopped.on_progress = [](const progress&) { return false; };
  EXPECT_THROW(sort_file(folder_.path("x"), folder_.path("y"), {.type = key_type::u32}, stopped), cancelled);
  EXPECT_EQ(report_.num_open, 0u);
}

}  // namespace
}  // namespace spansort
