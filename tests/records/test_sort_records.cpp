// SPDX-License-Identifier: Apache-2.0
// sort_records() against std::stable_sort with fields compared one by one.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>

#include "keys/codec.hpp"
#include "record_case.hpp"
#include "records/record_sorter.hpp"
#include "spansort/errors.hpp"
#include "spansort/report.hpp"
#include "support/engines.hpp"
#include "support/guarded_array.hpp"
#include "support/oracle.hpp"
#include "support/raised_limit.hpp"

namespace spansort::test {
namespace {

struct record_case {
  record_format format;
  record_contents contents = record_contents::random;
  std::uint64_t num_records = 0;
  bool descending = false;
  std::uint64_t seed = 0;

  [[nodiscard]] bytes make() const {
    random_words random(seed);
    return make_records(format, num_records, contents, random);
  }
  [[nodiscard]] std::string describe() const {
    return std::to_string(num_records) + " " + test::describe(format) + (descending ? " descending" : "") +
           ", contents " + std::to_string(static_cast<int>(contents)) + ", seed " + std::to_string(seed);
  }
};

record_case random_case(std::uint64_t number, std::uint64_t most_records) {
  random_words random(seed_for(number));
  record_case c{.format = random_format(random), .contents = all_contents[number % std::size(all_contents)]};
  c.num_records = number % 7 < 3 ? number % 7 : random.below(most_records);
  c.descending = random.below(2) == 1;
  c.seed = random();
  return c;
}

std::string diagnose(const record_case& c, const std::function<void(guarded_array&)>& sort, unsigned misalignment) {
  const bytes input = c.make();
  guarded_array records(input, misalignment);
  sort(records);
  if (!records.corruption().empty()) return records.corruption();
  return diagnose_bytes("records", sorted_records(c.format, c.descending, input), records.bytes(),
                        c.format.record_bytes);
}

TEST(SortRecords, RandomFormatsAndContents) {
  const char* const devices[] = {"cpu", "host:3", "auto"};
  for (std::uint64_t i = 0; i < num_cases(400); ++i) {
    const record_case c = random_case(i, 3000);
    const auto sort = [&](guarded_array& records) {
      sort_records(records.data(), c.num_records, c.format, keys::direction_of(c.descending),
                   {.devices = devices[i % 3]});
    };
    ASSERT_EQ(diagnose(c, sort, static_cast<unsigned>(i % 5)), "") << c.describe();
  }
}

TEST(SortRecords, LargeGroupsAreSortedByAllThreadsTheSameWay) {
  // Groups of more than 5 records are large here, so that every level of the recursion runs.
  for (std::uint64_t i = 0; i < num_cases(400); ++i) {
    const record_case c = random_case(1000 + i, 1500);
    records::record_sorter sorter(c.format, keys::direction_of(c.descending), {.devices = "cpu"}, 5);
    const auto sort = [&](guarded_array& records) { sorter.sort(records.data(), c.num_records); };
    ASSERT_EQ(diagnose(c, sort, static_cast<unsigned>(i % 3)), "") << c.describe();
  }
}

TEST(SortRecords, ManyRecordsOfFewKeys) {
  const std::uint64_t num_records = is_small_scale() ? 35'000 : 70'000;
  for (const char* keys : {"0:10", "0:20", "2:2:u16,0:8:r,4:4:f32", "90:10,0:1"}) {
    for (const record_contents contents : all_contents) {
      const record_case c{parse_record_format(100, keys), contents, num_records, false, seed_for(3)};
      const auto sort = [&](guarded_array& records) { sort_records(records.data(), num_records, c.format); };
      ASSERT_EQ(diagnose(c, sort, 0), "") << c.describe();
    }
  }
}

TEST(SortRecords, WideRecordsAreGatheredInStripes) {
  for (const std::uint32_t record_bytes : {64u, 65u, 127u, 128u, 129u, 255u, 257u, 1001u, 65536u}) {
    const record_case c{{record_bytes, {{record_bytes - 3, 3}, {0, 9}}},
                        record_contents::few_values,
                        record_bytes > 60'000 ? 20u : 500u,
                        true,
                        seed_for(4)};
    const auto sort = [&](guarded_array& records) {
      sort_records(records.data(), c.num_records, c.format, direction::descending);
    };
    ASSERT_EQ(diagnose(c, sort, 1), "") << c.describe();
  }
}

TEST(SortRecords, RecordsThatAreInOrderButForTwo) {
  const record_case c{parse_record_format(100, "0:10"), record_contents::random, 3000, false, seed_for(8)};
  const bytes ordered = sorted_records(c.format, false, c.make());
  for (const std::uint64_t first : {std::uint64_t{0}, std::uint64_t{1500}, c.num_records - 2}) {
    bytes records = ordered;
    const auto at = [&](std::uint64_t i) { return records.begin() + static_cast<std::ptrdiff_t>(i * 100); };
    std::swap_ranges(at(first), at(first + 1), at(first + 1));
    sort_records(records.data(), c.num_records, c.format);
    EXPECT_EQ(records, ordered) << first;
  }
}

TEST(SortRecords, RefusesWrongArgumentsBeforeItTouchesAnything) {
  bytes records(100, std::byte{7});
  EXPECT_THROW(sort_records(records.data(), 10, {10, {}}), invalid_argument);
  EXPECT_THROW(sort_records(records.data(), 10, {10, {{8, 3}}}), invalid_argument);
  EXPECT_THROW(sort_records(nullptr, 10, {10, {{0, 3}}}), invalid_argument);
  EXPECT_THROW(sort_records(records.data(), std::uint64_t{1} << 62, {10, {{0, 3}}}), invalid_argument);
  EXPECT_THROW(sort_records(records.data(), 10, {10, {{0, 3}}}, {.devices = "nonsense"}), invalid_argument);
  EXPECT_NO_THROW(sort_records(nullptr, 0, {10, {{0, 3}}}));
  EXPECT_EQ(records, bytes(100, std::byte{7}));
}

TEST(SortRecords, KeepsACeilingOnMemoryAndTheRecordsWhereItCannot) {
  const record_case c{parse_record_format(100, "0:10"), record_contents::random, 50'000, false, seed_for(5)};
  const bytes input = c.make();
  bytes records = input;
  for (const std::uint64_t limit : {std::uint64_t{1}, c.num_records * 50, c.num_records * 60}) {
    EXPECT_THROW(sort_records(records.data(), c.num_records, c.format, {.memory_limit_bytes = limit}), out_of_memory);
    EXPECT_EQ(records, input) << limit;
  }
  expect_enough_when_raised([&](std::uint64_t limit_bytes) {
    sort_records(records.data(), c.num_records, c.format, {.memory_limit_bytes = limit_bytes});
  });
  EXPECT_EQ(records, sorted_records(c.format, false, input));
  records = input;
  sort_report report;
  sort_records(records.data(), c.num_records, c.format, {.report = &report});
  EXPECT_EQ(records, sorted_records(c.format, false, input));
  records = input;
  EXPECT_NO_THROW(
      sort_records(records.data(), c.num_records, c.format, {.memory_limit_bytes = report.workspace_bytes}));
  EXPECT_EQ(records, sorted_records(c.format, false, input));
}

TEST(SortRecords, ReportsItsSteps) {
  const record_case c{parse_record_format(20, "0:16"), record_contents::equal_prefixes, 100'000, false, seed_for(6)};
  bytes records = c.make();
  sort_report report;
  double last = 0;
  std::uint64_t num_calls = 0;
  const progress_callback on_progress = [&](const progress& p) {
    EXPECT_GE(p.fraction, last);
    EXPECT_LE(p.fraction, 1);
    last = p.fraction;
    return ++num_calls != 0;
  };
  sort_records(records.data(), c.num_records, c.format, {.on_progress = on_progress, .report = &report});
  EXPECT_GT(num_calls, 0u);
  EXPECT_EQ(report.operation, "sort_records");
  EXPECT_EQ(report.num_keys, c.num_records);
  ASSERT_GE(report.phases.size(), 3u);
  EXPECT_EQ(report.phases[report.phases.size() - 2].name, "equal prefixes");
  EXPECT_EQ(report.phases.back().name, "gather");
}

TEST(SortRecords, CancelledLeavesTheRecordsUntouched) {
  const record_case c{parse_record_format(20, "0:16"), record_contents::random, 100'000, false, seed_for(7)};
  const bytes input = c.make();
  bytes records = input;
  EXPECT_THROW(sort_records(records.data(), c.num_records, c.format, {.on_progress = [](auto) { return false; }}),
               cancelled);
  EXPECT_EQ(records, input);
}

}  // namespace
}  // namespace spansort::test
