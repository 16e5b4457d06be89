// SPDX-License-Identifier: Apache-2.0
// The decision on which devices an input is sorted: a table of situations on machines that are made up.
#include <gtest/gtest.h>

#include <string>

#include "sort/choose_devices.hpp"
#include "sort/rates.hpp"
#include "spansort/errors.hpp"

namespace spansort::test {
namespace {

constexpr std::uint64_t kib = 1024;
constexpr std::uint64_t mib = 1024 * kib;
constexpr std::uint64_t gib = 1024 * mib;

constexpr algorithms::traits one_device{.runs_inline = true};
constexpr algorithms::traits all_devices{.uses_all_devices = true};
constexpr algorithms::traits as_auto{.uses_all_devices = true, .runs_inline = true, .sorts_in_parts = true};

/// GPUs with so much free memory; 0: none.
sorting::machine machine_with(int num_gpus, std::uint64_t free_bytes) {
  return {.num_processors = 16,
          .num_gpus = [num_gpus] { return num_gpus; },
          .check_gpus = [] {},
          .free_gpu_bytes = [free_bytes](int) { return free_bytes; }};
}

/// A list of GPUs that this machine need not have.
sorting::device_set gpus(std::vector<int> ordinals) {
  sorting::device_set list;
  list.gpus = std::move(ordinals);
  return list;
}

struct situation {
  std::uint64_t input_bytes;
  algorithms::traits algorithm;
  int num_gpus;
  std::uint64_t free_bytes;
  std::uint64_t memory_limit_bytes;
  std::size_t expected_gpus;  ///< 0: the CPU
  const char* why;            ///< the beginning
};

const situation of_auto_lists[] = {
    {10 * gib, as_auto, 0, 0, 0, 0, ""},
    {mib, as_auto, 8, 80 * gib, 0, 0, ""},  // the trip takes longer
    {4 * gib, as_auto, 8, 80 * gib, 0, 8, "8 GPUs: about "},
    {4 * gib, as_auto, 1, 80 * gib, 0, 1, "1 GPU: about "},
    {4 * gib, one_device, 8, 80 * gib, 0, 1, "1 GPU: about "},
    {4 * gib, one_device, 1, 8 * gib, 0, 0, "on the CPU: too large for the free memory of 1 GPU"},
    {4 * gib, all_devices, 1, 8 * gib, 0, 0, "on the CPU: too large"},
    {4 * gib, as_auto, 1, 8 * gib, 0, 1, "1 GPU, in parts: about "},
    {4 * gib, as_auto, 1, 255 * mib, 0, 0, "on the CPU: too large"},
    {4 * gib, all_devices, 2, 8 * gib, 0, 2, "2 GPUs: about "},
    {4 * gib, as_auto, 8, 80 * gib, 8 * gib, 0, ""},  // the limit leaves no room for the GPUs' copies
};

TEST(DeviceChoice, OfAutoIsTheFastest) {
  for (const situation& s : of_auto_lists) {
    const sorting::sort_demand sort{.num_keys = s.input_bytes / 4,
                                    .input_bytes = s.input_bytes,
                                    .inline_keys = 1000,
                                    .memory_limit_bytes = s.memory_limit_bytes,
                                    .algorithm = s.algorithm};
    const sorting::device_choice choice =
        sorting::choose_devices(sorting::resolve_devices("auto"), sort, machine_with(s.num_gpus, s.free_bytes));
    const std::string which = std::to_string(s.input_bytes) + " bytes, " + std::to_string(s.num_gpus) + " GPUs of " +
                              std::to_string(s.free_bytes) + ": " + choice.why;
    EXPECT_EQ(choice.list.gpus.size(), s.expected_gpus) << which;
    EXPECT_FALSE(choice.on_calling_thread()) << which;
    EXPECT_TRUE(choice.why.starts_with(s.why)) << which;
    EXPECT_EQ(choice.why.empty(), std::string(s.why).empty()) << which;
  }
}

TEST(DeviceChoice, TheStartOfGpusIsPaidOnceAProcess) {
  sorting::sort_demand sort{.num_keys = gib / 4, .input_bytes = gib, .algorithm = as_auto};
  sorting::machine machine = machine_with(1, 80 * gib);
  const sorting::device_set list = sorting::resolve_devices("auto");
  EXPECT_EQ(sorting::choose_devices(list, sort, machine).list.gpus.size(), 0u);
  machine.gpus_are_started = true;
  EXPECT_EQ(sorting::choose_devices(list, sort, machine).list.gpus.size(), 1u);
  sort.input_bytes = 32 * mib;  // opening a device takes longer than what is won
  EXPECT_EQ(sorting::choose_devices(list, sort, machine).list.gpus.size(), 0u);
  sort.gpus_are_open = true;
  EXPECT_EQ(sorting::choose_devices(list, sort, machine).list.gpus.size(), 1u);
}

TEST(DeviceChoice, WhoSortsAgainAndAgainGetsTheGpus) {
  sorting::sort_demand sort{.num_keys = 32 * mib, .input_bytes = 128 * mib, .algorithm = as_auto};
  const sorting::machine one_gpu = machine_with(1, 80 * gib);
  const sorting::device_set list = sorting::resolve_devices("auto");
  unsigned num_on_cpu = 0;
  while (sorting::choose_devices(list, sort, one_gpu).list.gpus.empty() && num_on_cpu < 1000) {
    const double missed_s = sorting::choose_devices(list, sort, one_gpu).missed_s;
    ASSERT_GT(missed_s, 0);
    sort.missed_s += missed_s;
    ++num_on_cpu;
  }
  EXPECT_GT(num_on_cpu, 1u);
  EXPECT_LT(num_on_cpu, 100u);
  sort.input_bytes = mib / 16;  // the trip itself takes longer: there is nothing to miss
  sort.missed_s = 0;
  EXPECT_EQ(sorting::choose_devices(list, sort, one_gpu).missed_s, 0);
}

TEST(DeviceChoice, WhatOtherSortersOfTheProcessMissedStartsTheGpus) {
  const sorting::sort_demand sort{.num_keys = 256 * mib, .input_bytes = gib, .algorithm = as_auto};
  sorting::machine machine = machine_with(1, 80 * gib);
  const sorting::device_set list = sorting::resolve_devices("auto");
  unsigned num_on_cpu = 0;
  for (; num_on_cpu < 1000; ++num_on_cpu) {  // a sorter of its own each time
    const sorting::device_choice choice = sorting::choose_devices(list, sort, machine);
    if (!choice.list.gpus.empty()) break;
    ASSERT_GT(choice.missed_with_open_s, 0);
    EXPECT_LT(choice.missed_with_open_s, choice.missed_s);
    machine.missed_s += choice.missed_with_open_s;
  }
  EXPECT_GT(num_on_cpu, 1u);
  EXPECT_LT(num_on_cpu, 10u);
}

TEST(DeviceChoice, WhatIsMissedIsRememberedByTheProcess) {
  const double before_s = sorting::this_machine(1).missed_s;
  sorting::remember_missed({.list = {}, .missed_s = 2, .missed_with_open_s = 0.5});
  EXPECT_EQ(sorting::this_machine(1).missed_s, before_s + 0.5);
  sorting::remember_missed({.list = {}, .gpus_refused = true});
  EXPECT_EQ(sorting::this_machine(1).missed_s, 0) << "as much has to be missed again before they are asked again";
}

TEST(DeviceChoice, AKeptSorterWaitsAboutTwiceAsLongAtMost) {
  const sorting::device_set list = sorting::resolve_devices("auto");
  for (const unsigned threads : {1U, 2U, 4U, 16U}) {
    for (const std::uint64_t input_bytes : {16 * mib, 64 * mib, 256 * mib}) {
      sorting::sort_demand sort{.num_keys = input_bytes / 4, .input_bytes = input_bytes, .algorithm = as_auto};
      sorting::machine machine = machine_with(1, 80 * gib);
      machine.num_processors = threads;
      double missed_s = 0;
      for (unsigned i = 0; i < 10'000; ++i) {
        const sorting::device_choice choice = sorting::choose_devices(list, sort, machine);
        if (!choice.list.gpus.empty()) break;
        missed_s += choice.missed_s;
        sort.missed_s += choice.missed_s;
        machine.missed_s += choice.missed_with_open_s;
      }
      const double start_s = sorting::rates.gpu_start_s + sorting::gpu_open_s(input_bytes);
      const double of_one_sort_s = sorting::cpu_sort_s(input_bytes, threads);
      EXPECT_GE(missed_s, start_s - of_one_sort_s) << input_bytes << " bytes, " << threads << " threads";
      EXPECT_LE(missed_s, start_s + of_one_sort_s) << input_bytes << " bytes, " << threads << " threads";
    }
  }
}

TEST(DeviceChoice, WithoutGpusFewKeysStayOnTheCallingThread) {
  sorting::machine machine = machine_with(0, 0);
  machine.missed_s = 10;
  sorting::sort_demand sort{.num_keys = mib / 4, .input_bytes = mib, .inline_keys = mib, .algorithm = as_auto};
  const sorting::device_set list = sorting::resolve_devices("auto");
  sort.missed_s = 10;
  EXPECT_TRUE(sorting::choose_devices(list, sort, machine).on_calling_thread());
  machine = machine_with(1, 80 * gib);
  machine.free_gpu_bytes = [](int) -> std::uint64_t { throw device_error("asked"); };
  machine.missed_s = 10;
  const sorting::device_choice refused = sorting::choose_devices(list, sort, machine);
  EXPECT_TRUE(refused.on_calling_thread());
  EXPECT_TRUE(refused.gpus_refused);
}

TEST(DeviceChoice, AnOpenGpuComesBeforeTheCallingThread) {
  sorting::sort_demand sort{.num_keys = mib / 4, .input_bytes = mib, .inline_keys = mib, .algorithm = as_auto};
  sorting::machine machine = machine_with(1, 80 * gib);
  machine.gpus_are_started = true;
  const sorting::device_set list = sorting::resolve_devices("auto");
  EXPECT_TRUE(sorting::choose_devices(list, sort, machine).on_calling_thread());
  sort.gpus_are_open = true;
  EXPECT_EQ(sorting::choose_devices(list, sort, machine).list.gpus.size(), 1u);
  EXPECT_FALSE(sorting::choose_devices(list, sort, machine).on_calling_thread());
  sort.input_bytes = 64 * kib;
  sort.num_keys = 16 * kib;
  EXPECT_TRUE(sorting::choose_devices(list, sort, machine).on_calling_thread());
}

TEST(DeviceChoice, AGpuThatHoldsEnoughIsNotAsked) {
  sorting::machine machine = machine_with(1, 80 * gib);
  machine.free_gpu_bytes = [](int) -> std::uint64_t { throw device_error("asked"); };
  sorting::sort_demand sort{
      .num_keys = mib, .input_bytes = 4 * mib, .held_gpu_bytes = 16 * mib, .gpus_are_open = true, .algorithm = as_auto};
  const sorting::device_set list = sorting::resolve_devices("auto");
  EXPECT_EQ(sorting::choose_devices(list, sort, machine).list.gpus.size(), 1u);
  machine.check_gpus = [] { throw device_error("an error is pending"); };
  EXPECT_EQ(sorting::choose_devices(list, sort, machine).why,
            "on the CPU, for the GPUs could not be asked: an error is pending");
  machine.check_gpus = [] {};
  sort.held_gpu_bytes = 4 * mib;
  EXPECT_EQ(sorting::choose_devices(list, sort, machine).why, "on the CPU, for the GPUs could not be asked: asked");
}

TEST(DeviceChoice, AFileThatIsBeingReadHidesTheStartOfGpus) {
  const auto gpus_for = [](std::uint64_t input_bytes, bool is_arriving) {
    const sorting::sort_demand sort{.num_keys = input_bytes / 4,
                                    .input_bytes = input_bytes,
                                    .is_arriving = is_arriving,
                                    .inline_keys = 1000,
                                    .algorithm = as_auto};
    return sorting::choose_devices(sorting::resolve_devices("auto"), sort, machine_with(1, 80 * gib)).list.gpus.size();
  };
  EXPECT_EQ(gpus_for(100'000'000, false), 0u) << "a start of a GPU takes longer";
  EXPECT_EQ(gpus_for(100'000'000, true), 0u) << "reading is shorter than a start";
  EXPECT_EQ(gpus_for(1'800'000'000, false), 0u);
  EXPECT_EQ(gpus_for(1'800'000'000, true), 1u);
}

TEST(DeviceChoice, FewKeysNeedTheCallingThreadAlone) {
  struct {
    sorting::device_set list;
    algorithms::traits algorithm;
    std::uint64_t num_keys;
    bool expected;
  } const cases[] = {
      {sorting::resolve_devices("auto"), as_auto, 1000, true},
      {sorting::resolve_devices("auto"), as_auto, 1001, false},
      {sorting::resolve_devices("cpu"), one_device, 0, true},
      {sorting::resolve_devices("cpu"), all_devices, 0, false},
      {sorting::resolve_devices("host:1"), one_device, 10, true},
      {sorting::resolve_devices("host:2"), one_device, 10, false},
      {gpus({0}), one_device, 10, false},
  };
  for (const auto& c : cases) {
    const sorting::device_choice choice = sorting::choose_devices(
        c.list, {.num_keys = c.num_keys, .input_bytes = 4 * c.num_keys, .inline_keys = 1000, .algorithm = c.algorithm},
        machine_with(0, 0));
    EXPECT_EQ(choice.on_calling_thread(), c.expected) << c.num_keys << " keys, list of " << c.list.count;
    EXPECT_EQ(choice.list.count, c.list.count);
    EXPECT_EQ(choice.list.gpus, c.list.gpus);
  }
}

TEST(DeviceChoice, OpenGpusAreWorthSmallerInputs) {
  const sorting::machine one_gpu = machine_with(1, 80 * gib);
  sorting::sort_demand sort{.num_keys = 64 * mib, .input_bytes = 256 * mib, .algorithm = as_auto};
  EXPECT_EQ(sorting::choose_devices(sorting::resolve_devices("auto"), sort, one_gpu).list.gpus.size(), 0u);
  sort.gpus_are_open = true;
  EXPECT_EQ(sorting::choose_devices(sorting::resolve_devices("auto"), sort, one_gpu).list.gpus.size(), 1u);
}

TEST(DeviceChoice, NamedDevicesAreTakenWithoutAsking) {
  sorting::machine silent;
  silent.num_gpus = []() -> int { throw device_error("asked"); };
  silent.free_gpu_bytes = [](int) -> std::uint64_t { throw device_error("asked"); };
  const sorting::sort_demand sort{.num_keys = gib, .input_bytes = 4 * gib, .algorithm = as_auto};
  EXPECT_EQ(sorting::choose_devices(gpus({1, 0}), sort, silent).list.gpus, (std::vector<int>{1, 0}));
  EXPECT_EQ(sorting::choose_devices(sorting::resolve_devices("host:5"), sort, silent).list.count, 5u);
}

TEST(DeviceChoice, GpusThatCannotBeAskedLeaveTheCpu) {
  sorting::machine broken = machine_with(1, 0);
  broken.free_gpu_bytes = [](int) -> std::uint64_t { throw device_error("no answer"); };
  const sorting::sort_demand sort{.num_keys = gib, .input_bytes = 4 * gib, .algorithm = as_auto};
  const sorting::device_choice choice = sorting::choose_devices(sorting::resolve_devices("auto"), sort, broken);
  EXPECT_TRUE(choice.list.gpus.empty());
  EXPECT_EQ(choice.why, "on the CPU, for the GPUs could not be asked: no answer");
}

}  // namespace
}  // namespace spansort::test
