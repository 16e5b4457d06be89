// SPDX-License-Identifier: Apache-2.0
// The one decision which algorithm sorts: a table of situations on host devices, nothing is sorted.
#include <gtest/gtest.h>

#include <string>

#include "algorithms/registry.hpp"
#include "sort/open_devices.hpp"
#include "spansort/errors.hpp"
#include "support/engines.hpp"

namespace spansort::test {
namespace {

constexpr std::uint64_t million = 1'000'000;

/// A sort of u32 keys, and what is to sort it.
struct situation {
  const char* devices;
  algorithm asked_for;
  bool is_resident;
  bool own_memory;  ///< the devices have memory of their own
  std::uint64_t num_keys;
  std::uint64_t several_devices_keys;  ///< 0: as the devices advise
  std::uint64_t device_memory_bytes;
  const char* expected;
  const char* why;  ///< the beginning
};

const situation situations[] = {
    // An algorithm that is asked for is chosen, whatever the input.
    {"host:1", algorithm::single, false, false, million, 0, 0, "single", ""},
    {"host:3", algorithm::single, false, false, million, 0, 0, "single", ""},
    {"host:1", algorithm::rmg, false, false, 10, 0, 0, "rmg", ""},
    {"host:3", algorithm::out_of_core, false, false, 10, 0, 0, "out_of_core", ""},
    {"host:4", algorithm::p2p_merge, false, false, 10, 0, 0, "p2p_merge", ""},
    {"host:3", algorithm::het_merge, false, false, 10, 0, 0, "het_merge", ""},
    {"host:3", algorithm::het_merge, false, true, 40 * million, 0, 64 << 20, "het_merge", ""},
    // One device.
    {"host:1", algorithm::automatic, false, false, 0, 0, 0, "single", "single: one device with "},
    {"host:1", algorithm::automatic, false, false, 900 * million, 0, 0, "single", "single: one device with "},
    {"host:1", algorithm::automatic, false, true, million, 0, 0, "single", "single: host:0"},
    {"host:1", algorithm::automatic, false, true, 64 << 20, 0, 0, "rmg", "rmg on host:0: copies overlap"},
    {"host:1", algorithm::automatic, false, true, (64 << 20) - 1, 0, 0, "single", "single: host:0"},
    {"host:1", algorithm::automatic, true, true, 64 << 20, 0, 0, "single", "single: host:0"},
    // Several.
    {"host:3", algorithm::automatic, false, false, 999, 1000, 0, "single",
     "single on the first of 3 devices: fewer than 1000"},
    {"host:3", algorithm::automatic, false, false, 1000, 1000, 0, "rmg", "rmg over the 3 devices asked for"},
    {"host:3", algorithm::automatic, true, false, 10, 1000, 0, "rmg", "rmg over the 3 devices asked for"},
    // Data that does not fit goes in parts, unless it lies on the devices.
    {"host:2", algorithm::automatic, false, true, 40 * million, 1, 64 << 20, "out_of_core",
     "out_of_core over the 2 devices asked for: too large for the 67108864 bytes allowed on a device"},
    {"host:1", algorithm::automatic, false, false, 40 * million, 0, 64 << 20, "out_of_core",
     "out_of_core on host:0: too large"},
    {"host:2", algorithm::automatic, true, true, 40 * million, 1, 64 << 20, "rmg", "rmg over"},
};

algorithms::problem problem_of(const situation& s, std::size_t num_ranks) {
  algorithms::problem problem;
  problem.shape = {{key_type::u32, false, keys::tie_rule::by_bits}, 0};
  problem.num_keys = s.num_keys;
  if (!s.is_resident) return problem;
  algorithms::resident_input input;
  for (std::size_t r = 0; r < num_ranks; ++r) input.parts.push_back({{}, s.num_keys / num_ranks, s.num_keys});
  problem.input = input;
  return problem;
}

TEST(Choice, IsMadeByInputAndDevices) {
  for (const situation& s : situations) {
    const base::test_hooks hooks{.host_separate_memory = s.own_memory, .several_devices_keys = s.several_devices_keys};
    const base::test_hooks_scope scope(hooks);
    std::vector<algorithms::rank> ranks = sorting::open_ranks(sorting::resolve_devices(s.devices), {.hooks = hooks});
    const algorithms::sort_settings options = algorithms::settings_of({.device_memory_bytes = s.device_memory_bytes});
    const algorithms::problem problem = problem_of(s, ranks.size());
    const algorithms::choice chosen =
        algorithms::choose(algorithms::find_algorithm(name(s.asked_for)), ranks, options, problem);
    const std::string which = std::string(s.devices) + ", " + std::string(name(s.asked_for)) + ", " +
                              std::to_string(s.num_keys) + " keys: " + chosen.why;
    EXPECT_EQ(chosen.algorithm->name, s.expected) << which;
    EXPECT_TRUE(chosen.why.starts_with(s.why)) << which;
    EXPECT_EQ(chosen.why.empty(), s.asked_for != algorithm::automatic) << which;
    EXPECT_FALSE(chosen.workspace.empty()) << which;
    EXPECT_EQ(algorithms::held_bytes(ranks), 0u) << which << ": a choice takes no memory";
  }
}

TEST(Choice, RefusesWhatAnAlgorithmDoesNotTake) {
  std::vector<algorithms::rank> ranks = sorting::open_ranks(sorting::resolve_devices("host:1"), {});
  algorithms::problem resident;
  resident.shape = {{key_type::u32, false, keys::tie_rule::by_bits}, 0};
  algorithms::problem shared = resident;
  resident.input = algorithms::resident_input{.parts = {{}}};
  const algorithms::cluster_sort others;
  shared.others = &others;
  const auto refuses = [&](algorithm which, const algorithms::problem& problem) {
    EXPECT_THROW(static_cast<void>(algorithms::choose(algorithms::find_algorithm(name(which)), ranks, {}, problem)),
                 invalid_argument)
        << name(which);
  };
  refuses(algorithm::out_of_core, resident);
  refuses(algorithm::out_of_core, shared);
  refuses(algorithm::het_merge, resident);
  refuses(algorithm::het_merge, shared);
  refuses(algorithm::p2p_merge, resident);
  refuses(algorithm::p2p_merge, shared);
  refuses(algorithm::single, shared);
  refuses(algorithm::automatic, shared);
}

}  // namespace
}  // namespace spansort::test
