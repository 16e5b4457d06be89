// SPDX-License-Identifier: Apache-2.0
// Plans of sorts larger than memory keep what they promise, for any memory and any input.
#include "files/external/spill_plan.hpp"

#include <gtest/gtest.h>

#include <random>

#include "base/math.hpp"
#include "spansort/errors.hpp"
#include "support/environment.hpp"

namespace spansort::test {
namespace {

constexpr std::uint64_t mebi = std::uint64_t{1} << 20;

external::spill_demand keys_demand(std::uint64_t memory_bytes, std::uint64_t num_elements) {
  return {.memory_bytes = memory_bytes,
          .num_elements = num_elements,
          .element_bytes = 8,
          .key_bytes = 8,
          .sort_memory = {13 * mebi, 8}};
}

TEST(SpillPlan, HoldsForAnyMemoryAndInput) {
  const std::uint64_t seed = test::base_seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (std::uint64_t i = 0; i < test::num_cases(20'000); ++i) {
    external::spill_demand d;
    d.element_bytes = 1 + random() % 300;
    d.key_bytes = 1 + random() % d.element_bytes;
    d.sort_memory = {random() % (20 * mebi), random() % 300};
    d.memory_bytes = (mebi << (random() % 18)) + random() % mebi;
    d.num_elements = random() >> (20 + random() % 44);
    external::spill_plan p;
    try {
      p = external::make_spill_plan(d);
    } catch (const out_of_memory& failure) {
      ASSERT_GT(failure.needed_bytes(), d.memory_bytes);
      d.memory_bytes = failure.needed_bytes();
      p = external::make_spill_plan(d);  // what it names is enough
    }
    SCOPED_TRACE("memory " + std::to_string(d.memory_bytes) + " n " + std::to_string(*d.num_elements) + " width " +
                 std::to_string(d.element_bytes));
    if (*d.num_elements != 0) {
      ASSERT_LE(p.memory_bytes, d.memory_bytes);
    }
    if (p.num_runs == 0) {
      ASSERT_GE(p.chunk_elements, *d.num_elements);
      ASSERT_EQ(p.spilled_bytes, 0u);
      continue;
    }
    ASSERT_GE(p.num_runs * p.chunk_elements, *d.num_elements);
    ASSERT_GE(p.fan_in, 2u);
    ASSERT_LE(p.fan_in * (p.block_elements - 1) + p.block_elements, p.chunk_elements) << "tails and a block fit";
    ASSERT_GE(p.block_bytes, p.block_elements * d.element_bytes);
    ASSERT_EQ(p.block_bytes % external::direct_alignment_bytes, 0u);
    ASSERT_EQ(p.batch_bytes % p.block_bytes, 0u);
    ASSERT_EQ(p.spilled_bytes, p.num_merges * *d.num_elements * d.element_bytes);
  }
}

TEST(SpillPlan, OneMergeForAllThatDisksHold) {
  // 16 GiB in 1 GiB, 1 TiB in 8 GiB of memory.
  EXPECT_EQ(external::make_spill_plan(keys_demand(1024 * mebi, std::uint64_t{1} << 31)).num_merges, 1u);
  EXPECT_EQ(external::make_spill_plan(keys_demand(8192 * mebi, std::uint64_t{1} << 37)).num_merges, 1u);
  EXPECT_EQ(external::make_spill_plan(keys_demand(64 * mebi, std::uint64_t{1} << 28)).num_merges, 1u);
}

TEST(SpillPlan, WhatFitsIsNotSpilled) {
  const external::spill_demand d = keys_demand(64 * mebi, 0);
  const std::uint64_t most = external::elements_that_fit(d);
  EXPECT_EQ(external::make_spill_plan(keys_demand(64 * mebi, most)).num_runs, 0u);
  EXPECT_GT(external::make_spill_plan(keys_demand(64 * mebi, most + 1)).num_runs, 1u);
}

TEST(SpillPlan, StreamsGetAPlanThatMergesHundreds) {
  external::spill_demand d = keys_demand(1024 * mebi, 0);
  d.num_elements.reset();
  const external::spill_plan p = external::make_spill_plan(d);
  EXPECT_GE(p.fan_in, 200u);
  EXPECT_EQ(p.num_merges, 0u) << "not known";
}

TEST(SpillPlan, TablesOfStreamsKeepToTheirShare) {
  for (const std::uint64_t memory_bytes : {64 * mebi, 256 * mebi, 1024 * mebi}) {
    for (const std::uint64_t key_bytes : {8u, 100u, 1000u, 4096u}) {
      const external::spill_plan p = external::make_spill_plan({.memory_bytes = memory_bytes,
                                                                .element_bytes = 4096,
                                                                .key_bytes = key_bytes,
                                                                .sort_memory = {13 * mebi, 1100}});
      EXPECT_LE(p.memory_bytes, memory_bytes) << key_bytes;
      // Of what one merge takes.
      const std::uint64_t num_blocks = p.fan_in * base::ceil_div(p.chunk_elements, p.block_elements);
      EXPECT_LE(num_blocks * (key_bytes + 8), memory_bytes / 16) << memory_bytes << " " << key_bytes;
      EXPECT_GE(p.fan_in, 10u) << memory_bytes << " " << key_bytes;
    }
  }
}

TEST(SpillPlan, NamesTheLeastMemory) {
  external::spill_demand d = keys_demand(mebi, std::uint64_t{1} << 30);
  try {
    static_cast<void>(external::make_spill_plan(d));
    FAIL();
  } catch (const out_of_memory& failure) {
    d.memory_bytes = failure.needed_bytes() - 3 * mebi;
    EXPECT_THROW(static_cast<void>(external::make_spill_plan(d)), out_of_memory);
  }
}

}  // namespace
}  // namespace spansort::test
