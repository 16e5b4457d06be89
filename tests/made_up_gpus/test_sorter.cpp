// SPDX-License-Identifier: Apache-2.0
// Host memory is sorted here on a machine with GPUs, which are made up: where the device list leaves the choice, GPUs
// sort what pays, and the CPU sorts what they refuse; where it names GPUs, their refusal is the caller's.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "made_up_gpus/made_up_gpus.hpp"
#include "spansort/devices.hpp"
#include "spansort/errors.hpp"
#include "spansort/report.hpp"
#include "spansort/sort.hpp"

namespace spansort::test {
namespace {

using words = std::vector<std::uint32_t>;

constexpr std::uint64_t worth_a_trip = std::uint64_t{1} << 22;  // keys, by the rates of one thread

words shuffled(std::uint64_t count) {
  words keys(count);
  for (std::uint64_t i = 0; i < count; ++i) keys[i] = static_cast<std::uint32_t>(i * 0x9E3779B97F4A7C15U >> 20);
  return keys;
}

const words& input() {
  static const words keys = shuffled(worth_a_trip);
  return keys;
}

const words& expected() {
  static const words keys = [] {
    words sorted = input();
    std::ranges::sort(sorted);
    return sorted;
  }();
  return keys;
}

/// Options of one thread, which a GPU beats.
sort_options slow_options() {
  sort_options options;
  options.threads = 1;
  return options;
}

TEST(SorterOnMadeUpGpus, WhatPaysIsSortedByAGpuThatStaysOpen) {
  const machine_scope scope(made_up_machine{});
  sort_report report;
  sort_options options = slow_options();
  options.report = &report;
  sorter s(options);
  for (int i = 0; i < 2; ++i) {
    words keys = input();
    s.sort(keys);
    EXPECT_EQ(keys, expected());
    ASSERT_EQ(report.ranks.size(), 1u);
    EXPECT_EQ(report.ranks[0].device, "gpu:0");
    EXPECT_NE(report.picked.find("1 GPU: about "), std::string::npos) << report.picked;
  }
  EXPECT_EQ(machine().num_opened, 1u);
  EXPECT_GT(s.workspace_bytes(), worth_a_trip * sizeof(std::uint32_t)) << "the memory of the GPU counts";
  s.release_workspace();
  EXPECT_EQ(s.workspace_bytes(), 0u);
}

TEST(SorterOnMadeUpGpus, SmallArraysStayOnTheCpu) {
  const machine_scope scope(made_up_machine{});
  sorter s(slow_options());
  words few = shuffled(1000);
  s.sort(few);
  EXPECT_TRUE(std::ranges::is_sorted(few));
  // Beyond the smallest, the sorter asks the machine before it takes the short way.
  words more = shuffled(50'000);
  s.sort(more);
  EXPECT_TRUE(std::ranges::is_sorted(more));
  EXPECT_EQ(machine().num_opened, 0u);
}

TEST(SorterOnMadeUpGpus, PairsAndOrdersGoToTheGpuToo) {
  const machine_scope scope(made_up_machine{});
  sorter s(slow_options());
  words keys = input();
  words values(keys.size());
  std::iota(values.begin(), values.end(), 0U);
  s.sort_pairs(keys, values);
  EXPECT_EQ(keys, expected());
  words order(keys.size());
  s.argsort(input(), order);
  EXPECT_EQ(order, values);
  for (std::uint64_t i = 0; i < keys.size(); i += 1001) EXPECT_EQ(input()[values[i]], keys[i]);
  EXPECT_EQ(machine().num_opened, 1u);
}

TEST(SorterOnMadeUpGpus, FreeFunctionsLeaveLargePairsToGpusThatAreStarted) {
  const machine_scope scope(made_up_machine{});
  for (const bool is_started : {false, true}) {
    machine().is_started = is_started;
    machine().num_opened = 0;
    words keys = input();
    words values(keys.size());
    std::iota(values.begin(), values.end(), 0U);
    sort_pairs(keys, values, direction::ascending, slow_options());
    EXPECT_EQ(keys, expected());
    EXPECT_EQ(input()[values[77]], keys[77]);
    EXPECT_EQ(machine().num_opened, is_started ? 1u : 0u);
  }
}

TEST(SorterOnMadeUpGpus, WhatGpusRefuseTheCpuSorts) {
  const struct {
    made_up_machine machine;
    const char* why;
  } refusals[] = {{{.cannot_be_opened = true}, "on the CPU, for the GPUs could not be used: gpu:0: cannot be opened"},
                  {{.most_allocation_bytes = 1000}, "on the CPU, for the GPUs could not be used: gpu:0: no room"},
                  {{.cannot_be_asked = true}, "on the CPU, for the GPUs could not be asked: gpu:0: does not answer"}};
  for (const auto& refusal : refusals) {
    const machine_scope scope(refusal.machine);
    sort_report report;
    sort_options options = slow_options();
    options.report = &report;
    sorter s(options);
    words keys = input();
    s.sort(keys);
    EXPECT_EQ(keys, expected());
    ASSERT_EQ(report.ranks.size(), 1u);
    EXPECT_EQ(report.ranks[0].device, "host:0");
    EXPECT_NE(report.picked.find(refusal.why), std::string::npos) << report.picked;
    words values(keys.size());
    std::iota(values.begin(), values.end(), 0U);
    keys = input();
    s.sort_pairs(keys, values);
    EXPECT_EQ(keys, expected());
    EXPECT_EQ(input()[values[99]], keys[99]);
  }
}

TEST(SorterOnMadeUpGpus, WhatNamedGpusRefuseIsTheCallersFailure) {
  const words few = shuffled(5000);
  for (const bool has_no_room : {false, true}) {
    const machine_scope scope({.cannot_be_opened = !has_no_room,
                               .most_allocation_bytes = has_no_room ? std::uint64_t{1000} : ~std::uint64_t{0}});
    sort_options options;
    options.devices = "gpu:0";
    words keys = few;
    try {
      sort(keys, options);
      ADD_FAILURE() << "the GPU refused";
    } catch (const out_of_memory& failure) {
      EXPECT_TRUE(has_no_room);
      EXPECT_STREQ(failure.what(), "gpu:0: no room");
    } catch (const device_error& failure) {
      EXPECT_FALSE(has_no_room);
      EXPECT_STREQ(failure.what(), "gpu:0: cannot be opened");
    }
    EXPECT_EQ(keys, few);
  }
}

TEST(SorterOnMadeUpGpus, AsManyGpusSortAsTheInputNeeds) {
  // The input does not fit one of them.
  const machine_scope scope({.num_gpus = 2, .free_bytes = worth_a_trip * sizeof(std::uint32_t) * 3 / 2});
  sort_report report;
  sort_options options = slow_options();
  options.report = &report;
  sorter s(options);
  words keys = input();
  s.sort(keys);
  EXPECT_EQ(keys, expected());
  ASSERT_EQ(report.ranks.size(), 2u);
  EXPECT_NE(report.picked.find("2 GPUs: about "), std::string::npos) << report.picked;
  // One of them has become roomy enough, and the sorter goes on with that alone.
  machine().free_bytes = std::uint64_t{1} << 30;
  keys = input();
  s.sort(keys);
  EXPECT_EQ(keys, expected());
  ASSERT_EQ(report.ranks.size(), 1u);
  EXPECT_EQ(report.ranks[0].device, "gpu:0");
}

TEST(MadeUpGpus, AreListedAmongTheDevices) {
  const machine_scope scope({.num_gpus = 2});
  const std::vector<device_description> devices = list_devices();
  ASSERT_GE(devices.size(), 3u);
  const device_description& first = devices[devices.size() - 2];
  EXPECT_EQ(first.name, "gpu:0");
  EXPECT_EQ(first.model, "a GPU that is made up");
  EXPECT_EQ(first.memory_bytes, std::uint64_t{1} << 30);
  EXPECT_EQ(first.available_bytes, machine().free_bytes);
  machine().cannot_be_opened = true;
  const std::vector<device_description> unusable = list_devices();
  ASSERT_EQ(unusable.size(), devices.size());
  EXPECT_EQ(unusable.back().name, "gpu:1");
  EXPECT_EQ(unusable.back().model, "gpu:1: cannot be opened") << "of a GPU that cannot be used the model says why";
  EXPECT_EQ(unusable.back().memory_bytes, 0u);
}

TEST(MadeUpGpus, AreListedWithTheirLinksInJson) {
  const machine_scope scope({.num_gpus = 2});
  const auto told = nlohmann::json::parse(devices_json());
  EXPECT_EQ(told["devices"].size(), list_devices().size());
  EXPECT_EQ(told["devices"].back()["name"], "gpu:1");
  ASSERT_EQ(told["links"].size(), 2u);
  EXPECT_EQ(told["links"][0]["from"], "gpu:0");
  EXPECT_EQ(told["links"][0]["works"], true);
  EXPECT_EQ(told["links"][0]["gigabytes_per_s"], 2.5);
  EXPECT_EQ(told["links"][1]["works"], false);
  EXPECT_EQ(told["links"][1]["why_not"], "it is cut");
  EXPECT_EQ(told["gpu"], "");
  EXPECT_GT(told["num_processors"], 0u);
  EXPECT_EQ(told["num_processors"], num_processors());
}

}  // namespace
}  // namespace spansort::test
