// SPDX-License-Identifier: Apache-2.0
// Every way to sort arrays, in worlds in which few keys have many levels of buckets, passes, exchanges and runs, with
// each allocation failing: a call either throws and leaves the arrays as they were, or has sorted them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "memory/fail_every_allocation.hpp"
#include "support/engines.hpp"
#include "support/environment.hpp"
#include "support/oracle.hpp"
#include "support/sort_job.hpp"

namespace spansort::test {
namespace {

const operation operations[] = {
    {operation::kind::keys, 0},  {operation::kind::pairs, 8},   {operation::kind::pairs, 3},
    {operation::kind::keys, 0},  {operation::kind::pairs, 24},  {operation::kind::pairs, 4},
    {operation::kind::keys, 0},  {operation::kind::argsort, 8}, {operation::kind::pairs, 16},
    {operation::kind::pairs, 1}, {operation::kind::pairs, 64},  {operation::kind::argsort, 4}};
const key_type types[] = {key_type::u32, key_type::u64, key_type::f32, key_type::u16, key_type::f64, key_type::i8};
const distribution distributions[] = {{distribution_kind::uniform},    {distribution_kind::zipf, 1.0},
                                      {distribution_kind::entropy, 4}, {distribution_kind::normal},
                                      {distribution_kind::entropy, 9}, {distribution_kind::staggered}};

template <class T, std::size_t count>
const T& in_turn(const T (&all)[count], std::size_t number) {
  return all[number % count];
}

std::vector<engine> engines_under_test() {
  std::vector<engine> engines = all_engines();
  std::erase_if(engines, [](const engine& e) { return e.is_costly; });
  return engines;
}

/// Sorts by a sorter that has its workspace, and by one that has none, which begins its threads and takes its memory in
/// the call.
void fail_all(const engine& how, const operation& op, key_type type, std::uint64_t num_keys, const distribution& d,
              failing_allocations which, bool shows_progress = false) {
  SCOPED_TRACE(describe(op) + " of " + std::to_string(num_keys) + " " + std::string(name(type)) + ", " +
               how.describe());
  sort_job arrays(op, make_oracle(type, num_keys, d, seed_for(4), false));
  const auto prepare = [&] { arrays.reset(); };
  const auto check = [&](bool has_thrown) {
    const std::string not_done = arrays.diagnose_done();
    if (!has_thrown || op.what == operation::kind::argsort) return has_thrown ? "" : not_done;
    return arrays.diagnose_untouched();
  };
  hooked_options options = how.options();
  if (shows_progress) options.on_progress = [](const progress&) { return true; };
  sorter kept = make_sorter(options);
  fail_every_allocation(
      prepare, [&] { arrays.run(kept); }, check, which);
  if (fails_many()) {
    fail_every_allocation(
        prepare,
        [&] {
          sorter own = make_sorter(options);
          arrays.run(own);
        },
        check, which);
  }
}

void fail_all(const engine& how, const operation& op, key_type type, std::uint64_t num_keys, const distribution& d,
              bool shows_progress = false) {
  fail_all(how, op, type, num_keys, d, failing_on(devices_under_test(how.devices)), shows_progress);
}

class FailingMemoryOfEngine : public testing::TestWithParam<std::size_t> {
 protected:
  ~FailingMemoryOfEngine() override {
    const failing_calls all = count_failing_calls();
    RecordProperty("calls", std::to_string(all.num_calls));
    RecordProperty("thrown", std::to_string(all.num_thrown));
  }
  engine how = engines_under_test()[GetParam()];
};

TEST_P(FailingMemoryOfEngine, ArraysAreSortedOrAsTheyWere) {
  const std::size_t num_operations = fails_many() ? std::size(operations) : 3;
  for (std::size_t i = 0; i < num_operations; ++i) {
    const std::size_t number = GetParam() * 3 + i;
    fail_all(how, in_turn(operations, number), in_turn(types, number + number / 12), 1500,
             in_turn(distributions, number / 2));
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(All, FailingMemoryOfEngine, testing::Range<std::size_t>(0, engines_under_test().size()));

/// Samples look for values that repeat in larger arrays only, and several threads share these.
TEST(FailingMemory, LargerArraysAreSortedOrAsTheyWere) {
  const engine shrunken{
      "cpu",
      "single",
      {.host_inline_keys = 1, .host_bucket_bytes = 4096, .host_radix_bits = 5, .host_tile_keys = 4096}};
  const std::uint64_t num_keys = is_small_scale() ? 20'000 : 140'000;
  for (const distribution& d :
       {distribution{distribution_kind::zipf, 1.0}, distribution{distribution_kind::entropy, 4}}) {
    fail_all(shrunken, {operation::kind::keys, 0}, key_type::u64, num_keys, d);
    fail_all(engine{"cpu", "single"}, {operation::kind::keys, 0}, key_type::u32, num_keys, d);
    fail_all(engine{"cpu", "single"}, {operation::kind::pairs, 8}, key_type::u32, num_keys, d);
    if (HasFatalFailure()) return;
  }
}

/// Where progress is shown the host waits between steps that are queued together otherwise.
TEST(FailingMemory, ArraysWhoseProgressIsShownAreSortedOrAsTheyWere) {
  const test_tuning shrunken{.radix_bits = 3, .epsilon = 0, .host_inline_keys = 1, .host_bucket_bytes = 1024};
  for (const char* const algorithm : {"single", "rmg", "out_of_core", "het_merge", "p2p_merge"}) {
    fail_all({"host:2", algorithm, shrunken}, {operation::kind::pairs, 8}, key_type::u32, 1500,
             {distribution_kind::entropy, 4}, true);
    if (HasFatalFailure()) return;
  }
}

/// Those threads may have begun to overwrite the arrays when they lack memory, and the calling thread does not.
TEST(FailingMemory, ArraysAreSortedOrAsTheyWereWhereOtherThreadsLackMemory) {
  const test_tuning apart{.radix_bits = 5,
                          .fuse_threshold = 0,
                          .host_inline_keys = 1,
                          .host_bucket_bytes = 1024,
                          .host_radix_bits = 5,
                          .host_separate_memory = true,
                          .copy_piece_bytes = 4096};
  test_tuning apart_in_rounds = apart;
  apart_in_rounds.round_keys = 50;
  test_tuning apart_and_packed = apart;
  apart_and_packed.packing = base::key_packing::always;
  const unsigned long num_before = count_failing_calls().num_calls;
  for (const test_tuning& tuning : {apart, apart_in_rounds, apart_and_packed}) {
    for (const operation& op : {operation{operation::kind::keys, 0}, operation{operation::kind::pairs, 8}}) {
      fail_all({"host:3", "rmg", tuning}, op, key_type::u32, 4000, {distribution_kind::uniform},
               failing_allocations::of_new_elsewhere);
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_GT(count_failing_calls().num_calls, num_before);
}

/// Arrays that are in order but backwards are reversed, which rmg does with all devices.
TEST(FailingMemory, OrderedArraysAreSortedOrAsTheyWere) {
  for (const engine& how : {engine{"host:3", "auto", {.several_devices_keys = 1}}, engine{"cpu", "single"}}) {
    for (const distribution_kind kind : {distribution_kind::reverse, distribution_kind::sorted}) {
      for (const operation& op : {operation{operation::kind::keys, 0}, operation{operation::kind::pairs, 8}}) {
        fail_all(how, op, key_type::u64, 40'000, {kind});
        if (HasFatalFailure()) return;
      }
    }
  }
}

}  // namespace
}  // namespace spansort::test
