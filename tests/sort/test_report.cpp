// SPDX-License-Identifier: Apache-2.0
// Reports: what ran and why, counts that add up, JSON and traces that parse.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "keys/codec.hpp"
#include "report/phases.hpp"
#include "spansort/plan.hpp"
#include "spansort/report.hpp"
#include "spansort/sort.hpp"
#include "support/engines.hpp"
#include "support/environment.hpp"

namespace spansort::test {
namespace {

TEST(Phases, CountWorkSideBySideOnceADevice) {
  sort_report r;
  const auto add = [&](int rank, std::int64_t begin_ms, std::int64_t end_ms) {
    r.timeline.push_back(
        {.rank = rank, .name = "local sort", .begin_ns = begin_ms * 1'000'000, .end_ns = end_ms * 1'000'000});
  };
  add(0, 0, 10);
  add(0, 2, 4);    // within the first
  add(0, 8, 12);   // two milliseconds beyond it
  add(0, 20, 25);  // after a pause
  add(1, 1, 4);    // another device
  report::summarize_timeline(r, 0);
  ASSERT_EQ(r.phases.size(), 1U);
  EXPECT_DOUBLE_EQ(r.phases[0].busy_ms, 10 + 2 + 5 + 3);
  EXPECT_DOUBLE_EQ(r.phases[0].elapsed_ms, 25);
  EXPECT_EQ(r.phases[0].num_activities, 5U);
}

constexpr std::uint64_t n = 300'000;

/// Sorts generated keys (and values) and returns the report.
sort_report report_of(const engine& how, key_type type, const distribution& d, const operation& op,
                      bool descending = false) {
  sort_report report;
  report.wants_plan = true;
  hooked_options options = how.options();
  options.report = &report;
  sorter s = make_sorter(options);
  const direction wanted = keys::direction_of(descending);
  auto keys = make_keys(type, n, d, seed_for(1));
  std::vector<std::byte> values = input_values(n, std::max(op.bytes, 1u));
  const key_span span{type, keys.data(), n};
  switch (op.what) {
    case operation::kind::keys: s.sort(span, wanted); break;
    case operation::kind::pairs: s.sort_pairs(span, values.data(), op.bytes, wanted); break;
    default: s.argsort(span, values.data(), op.bytes, wanted); break;
  }
  return report;
}

std::uint64_t num_devices(const engine& how) {
  const std::size_t colon = how.devices.find(':');
  return colon == std::string::npos ? 1 : std::stoull(how.devices.substr(colon + 1));
}

const engine engines[] = {{"cpu", "single"},
                          {"cpu", "rmg"},
                          {"host:3", "rmg"},
                          {"host:7", "rmg", {.radix_bits = 3}},
                          {"host:2", "auto", {.several_devices_keys = 1}},
                          {"host:3", "single"},
                          {"host:3", "out_of_core", {.host_separate_memory = true, .device_chunk_keys = 20'000}},
                          {"host:4", "p2p_merge"},
                          {"host:3", "het_merge"}};

class report_test : public testing::TestWithParam<std::size_t> {
 protected:
  engine how = engines[GetParam()];
};

TEST_P(report_test, CountsAddUp) {
  const sort_report r = report_of(how, key_type::u32, {distribution_kind::zipf, 1}, {operation::kind::pairs, 8});
  EXPECT_EQ(r.operation, "sort_pairs");
  EXPECT_EQ(r.key_type, "u32");
  EXPECT_EQ(r.num_keys, n);
  EXPECT_EQ(r.value_bytes, 8u);
  EXPECT_FALSE(r.descending);
  EXPECT_FALSE(r.picked.empty());
  EXPECT_EQ(r.algorithm, how.algorithm == "auto" ? "rmg" : how.algorithm);
  EXPECT_GT(r.elapsed_ms, 0);
  EXPECT_GE(r.imbalance, 1.0);
  EXPECT_GT(r.workspace_bytes, 0u);
  // "cpu" is one device, or one a NUMA node where the algorithm takes several.
  if (how.devices != "cpu" || how.algorithm == "single") {
    ASSERT_EQ(r.ranks.size(), num_devices(how));
  }
  std::uint64_t num_in = 0, num_out = 0, largest = 0;
  for (const rank_report& rank : r.ranks) {
    EXPECT_FALSE(rank.device.empty());
    EXPECT_GT(rank.num_threads, 0u);
    num_in += rank.num_keys_in;
    num_out += rank.num_keys_out;
    largest = std::max(largest, rank.num_keys_out);
  }
  EXPECT_EQ(num_in, n);
  EXPECT_EQ(num_out, n);
  EXPECT_NEAR(r.imbalance, static_cast<double>(largest) * static_cast<double>(r.ranks.size()) / n, 1e-6);
}

TEST_P(report_test, PhasesAndTimelineArePresentAndConsistent) {
  const sort_report r = report_of(how, key_type::u64, {distribution_kind::uniform}, {operation::kind::keys});
  EXPECT_EQ(r.operation, "sort");
  EXPECT_EQ(r.value_bytes, 0u);
  ASSERT_FALSE(r.phases.empty());
  ASSERT_FALSE(r.timeline.empty());
  std::set<std::string> names;
  for (const phase_report& p : r.phases) {
    EXPECT_TRUE(names.insert(p.name).second) << "phase twice: " << p.name;
    EXPECT_GE(p.elapsed_ms, 0) << p.name;
    EXPECT_GE(p.busy_ms, 0) << p.name;
    EXPECT_GT(p.num_activities, 0u) << p.name;
    EXPECT_LE(p.elapsed_ms, r.elapsed_ms * 1.001 + 0.1) << p.name;
  }
  EXPECT_TRUE(std::is_sorted(r.timeline.begin(), r.timeline.end(),
                             [](const activity& a, const activity& b) { return a.begin_ns < b.begin_ns; }));
  for (const activity& a : r.timeline) {
    EXPECT_TRUE(names.contains(std::string(a.name))) << "activity without a phase: " << a.name;
    EXPECT_LE(a.begin_ns, a.end_ns) << a.name;
    EXPECT_GE(a.begin_ns, 0) << a.name;
    EXPECT_TRUE(a.rank >= 0 && static_cast<std::size_t>(a.rank) < r.ranks.size()) << a.name << " of rank " << a.rank;
  }
  if (how.algorithm == "rmg" && num_devices(how) > 1) {
    for (const char* phase : {"histogram", "partition", "exchange", "local sort"})
      EXPECT_TRUE(names.contains(phase)) << phase;
    EXPECT_GT(r.num_passes, 0u);
    EXPECT_GT(r.exchanged_bytes, 0u);
    EXPECT_LE(r.exchanged_bytes, n * 8);
    EXPECT_TRUE(nlohmann::json::accept(r.plan_json)) << r.plan_json.substr(0, 200);
  }
  if (how.algorithm == "p2p_merge") {
    EXPECT_EQ(names, (std::set<std::string>{"copy in", "local sort", "pivot", "exchange", "merge", "copy out"}));
    EXPECT_EQ(r.num_passes, 3u) << "swaps of four devices, one after the other";
    EXPECT_GT(r.exchanged_bytes, 0u);
  }
  if (how.algorithm == "het_merge") {
    EXPECT_EQ(names, (std::set<std::string>{"copy in", "local sort", "copy out", "multiway merge"}));
  }
  if (how.algorithm == "out_of_core") {
    EXPECT_EQ(names, (std::set<std::string>{"copy in", "copy out", "local sort"}));
    EXPECT_EQ(r.num_passes, 2u);
    for (const phase_report& p : r.phases) {
      if (p.name == "local sort") continue;
      EXPECT_EQ(p.bytes_moved, 2 * 2 * n * 8) << p.name << " of two trips";
    }
  }
}

TEST_P(report_test, JsonParsesAndSaysTheSame) {
  const sort_report r = report_of(how, key_type::f32, {distribution_kind::normal}, {operation::kind::argsort, 4}, true);
  EXPECT_EQ(r.operation, "argsort");
  const auto json = nlohmann::json::parse(to_json(r));
  EXPECT_EQ(json.at("operation"), "argsort");
  EXPECT_EQ(json.at("key_type"), "f32");
  EXPECT_EQ(json.at("num_keys"), n);
  EXPECT_EQ(json.at("algorithm"), r.algorithm);
  EXPECT_EQ(json.at("picked"), r.picked);
  EXPECT_EQ(json.at("descending"), true);
  EXPECT_EQ(json.at("ranks").size(), r.ranks.size());
  EXPECT_EQ(json.at("phases").size(), r.phases.size());
}

TEST_P(report_test, TraceHasARowForEachDevice) {
  const sort_report r = report_of(how, key_type::u32, {distribution_kind::uniform}, {operation::kind::keys});
  std::ostringstream text;
  write_chrome_trace(r, text);
  const auto trace = nlohmann::json::parse(text.str());
  const auto& events = trace.is_array() ? trace : trace.at("traceEvents");
  std::set<std::pair<int, int>> rows_with_work;
  std::set<std::string> row_names;
  std::size_t num_activities = 0;
  for (const auto& event : events) {
    const std::string phase = event.at("ph");
    if (phase == "X") {
      EXPECT_GE(event.at("dur").get<double>(), 0);
      EXPECT_TRUE(event.contains("ts") && event.contains("name"));
      rows_with_work.insert({event.at("pid").get<int>(), event.at("tid").get<int>()});
      ++num_activities;
    } else if (phase == "M" && event.at("name") == "thread_name") {
      row_names.insert(event.at("args").at("name").get<std::string>());
    }
  }
  EXPECT_GE(num_activities, r.timeline.size());
  const auto num_at_work = std::ranges::count_if(r.ranks, [](const rank_report& k) { return k.num_keys_in != 0; });
  EXPECT_GE(rows_with_work.size(), static_cast<std::size_t>(num_at_work));
  for (const rank_report& rank : r.ranks) {
    const bool is_named = std::any_of(row_names.begin(), row_names.end(), [&](const std::string& row) {
      return row.find(rank.device) != std::string::npos;
    });
    EXPECT_TRUE(is_named) << "no row is called " << rank.device;
  }
}

INSTANTIATE_TEST_SUITE_P(Sort, report_test, testing::Range(std::size_t{0}, std::size(engines)), [](const auto& param) {
  return test_name(std::to_string(param.param) + "_" + engines[param.param].algorithm + "_" +
                   engines[param.param].devices);
});

class shape_test : public testing::TestWithParam<const char*> {};

TEST_P(shape_test, AutoNoticesTheShapeOfItsInput) {
  const engine how{GetParam(), "auto"};
  const operation keys{operation::kind::keys};
  for (const key_type type : {key_type::u32, key_type::f64, key_type::i16}) {
    for (const bool descending : {false, true}) {
      const char* forward = descending ? "reversed" : "sorted";
      const char* backward = descending ? "sorted" : "reversed";
      EXPECT_EQ(report_of(how, type, {distribution_kind::sorted}, keys, descending).input_shape, forward) << name(type);
      EXPECT_EQ(report_of(how, type, {distribution_kind::reverse}, keys, descending).input_shape, backward)
          << name(type);
      EXPECT_EQ(report_of(how, type, {distribution_kind::zero}, keys, descending).input_shape, "constant")
          << name(type);
      EXPECT_EQ(report_of(how, type, {distribution_kind::uniform}, keys, descending).input_shape, "general")
          << name(type);
    }
  }
}

TEST_P(shape_test, ReversedPairsWithTiesAreNotReversed) {
  // Reversing keys that repeat would turn their values around.
  const sort_report r =
      report_of({GetParam(), "auto"}, key_type::u8, {distribution_kind::reverse}, {operation::kind::pairs, 4});
  EXPECT_EQ(r.input_shape, "general");
}

INSTANTIATE_TEST_SUITE_P(Sort, shape_test, testing::Values("cpu", "host:2", "host:5"),
                         [](const auto& param) { return test_name(param.param); });

/// Keys for which every chunk of `num_ranks` looks reversed, or constant, and yet equal keys must keep their order.
std::vector<std::vector<std::uint32_t>> keys_that_tie_at_bounds(unsigned num_ranks) {
  std::vector<std::uint32_t> steps(n);   // each chunk constant, chunks descending
  std::vector<std::uint32_t> bounds(n);  // each chunk descends strictly; the keys around a bound are equal
  for (std::uint64_t i = 0; i < n; ++i) {
    const auto chunk = static_cast<std::uint32_t>(i * num_ranks / n);  // n divides evenly
    steps[i] = num_ranks - chunk;
    bounds[i] = static_cast<std::uint32_t>(2 * n - i + chunk);
  }
  return {steps, bounds};
}

TEST(AutoOverSeveralDevices, IsStableWhereChunksLookReversed) {
  for (const unsigned num_ranks : {2u, 3u, 6u}) {
    if (is_small_scale() && num_ranks != 3) continue;
    for (const std::vector<std::uint32_t>& keys : keys_that_tie_at_bounds(num_ranks)) {
      for (const bool descending : {false, true}) {
        std::vector<std::uint32_t> expected(n);
        std::iota(expected.begin(), expected.end(), 0u);
        std::stable_sort(expected.begin(), expected.end(), [&](std::uint32_t a, std::uint32_t b) {
          return descending ? keys[a] > keys[b] : keys[a] < keys[b];
        });
        std::vector<std::uint32_t> order(n);
        argsort(keys, order, keys::direction_of(descending), {.devices = "host:" + std::to_string(num_ranks)});
        EXPECT_TRUE(order == expected) << num_ranks << " devices" << (descending ? ", descending" : "");
      }
    }
  }
}

TEST(Report, ThePlanThatIsExplainedIsThePlanThatIsSorted) {
  for (const char* devices : {"host:2", "host:3", "host:7"}) {
    for (const distribution_kind kind : {distribution_kind::uniform, distribution_kind::zipf}) {
      const engine how{devices, "rmg"};
      const auto keys = make_keys(key_type::u32, n, {kind, 1}, seed_for(1));
      const plan_explanation plan = explain_plan(const_key_span(key_type::u32, keys.data(), n), how.options());
      EXPECT_EQ(plan.json, report_of(how, key_type::u32, {kind, 1}, {operation::kind::keys}).plan_json) << devices;
      EXPECT_NE(plan.text.find("rank"), std::string::npos) << plan.text;
    }
  }
}

TEST(Report, ThePlanOfDevicesWithMemoryOfTheirOwnIsTheSame) {
  const auto keys = make_keys(key_type::u32, n, {distribution_kind::zipf, 1}, seed_for(1));
  const auto before = keys;
  const const_key_span span(key_type::u32, keys.data(), n);
  const std::string expected = explain_plan(span, {.devices = "host:3"}).json;
  const base::test_hooks_scope hooks({.host_separate_memory = true});
  EXPECT_EQ(explain_plan(span, {.devices = "host:3"}).json, expected);
  EXPECT_EQ(keys, before);
}

TEST(Report, SpanningBucketsOfConstantInputAreCutEvenly) {
  const sort_report r =
      report_of({"host:7", "rmg"}, key_type::u32, {distribution_kind::zero}, {operation::kind::pairs, 4});
  EXPECT_LE(r.imbalance, 1.01);
}

TEST(Report, IsOverwrittenByTheNextSort) {
  sort_report report;
  sorter s(sort_options{.devices = "host:2", .report = &report});
  std::vector<std::uint32_t> keys(1000);
  s.sort(keys);
  const std::size_t num_ranks = report.ranks.size();
  std::vector<float> more{2, 1};
  s.sort(more);
  EXPECT_EQ(report.num_keys, 2u);
  EXPECT_EQ(report.key_type, "f32");
  EXPECT_LE(report.ranks.size(), std::max<std::size_t>(num_ranks, 2));
}

TEST(Report, EmptyInputIsReportedToo) {
  sort_report report;
  std::vector<int> none;
  spansort::sort(none, {.report = &report});
  EXPECT_EQ(report.operation, "sort");
  EXPECT_EQ(report.num_keys, 0u);
  EXPECT_FALSE(report.picked.empty());
  EXPECT_TRUE(nlohmann::json::accept(to_json(report)));
}

}  // namespace
}  // namespace spansort::test
