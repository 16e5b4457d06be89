// SPDX-License-Identifier: Apache-2.0
// The tables of sizes that kernels are compiled with. No GPU is needed: what is asked is which entry a compute
// capability gets, and that every entry says where it comes from.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <tuple>

#include "device/cuda/tuning/partition_policy.hpp"
#include "device/cuda/tuning/striding_policies.hpp"
#include "device/cuda/tuning/tuning_report.hpp"
#include "device/cuda/tuning/workspace_sizes.hpp"

namespace spansort::test {
namespace {

namespace cuda = device::cuda;

TEST(cuda_tuning_test, CapabilitiesBetweenEntriesTakeTheOneBelow) {
  EXPECT_EQ(cuda::family_of({7, 5}), cuda::kernel_family::turing);
  EXPECT_EQ(cuda::family_of({8, 0}), cuda::kernel_family::ampere);
  EXPECT_EQ(cuda::family_of({9, 0}), cuda::kernel_family::hopper);
  EXPECT_EQ(cuda::family_of({12, 0}), cuda::kernel_family::ampere);
  EXPECT_EQ(&cuda::entry_of({8, 7}), &cuda::entry_of({8, 6}));
  EXPECT_EQ(&cuda::entry_of({10, 3}), &cuda::entry_of({10, 0}));
  EXPECT_EQ(&cuda::entry_of({99, 0}), &cuda::capability_entries.back());
  EXPECT_NE(&cuda::entry_of({8, 9}), &cuda::entry_of({9, 0}));
}

TEST(cuda_tuning_test, EntriesAscendAndNameTheirSource) {
  for (std::size_t i = 0; i < cuda::capability_entries.size(); ++i) {
    EXPECT_FALSE(cuda::capability_entries[i].provenance.empty());
    if (i != 0) {
      EXPECT_LT(cuda::capability_entries[i - 1].least, cuda::capability_entries[i].least);
    }
  }
  for (const cuda::capability_entry& entry : cuda::capability_entries) {
    for (const cuda::tuning_line& line : cuda::describe(entry.least)) {
      EXPECT_FALSE(line.provenance.empty()) << line.primitive;
    }
  }
}

TEST(cuda_tuning_test, NoPartitionHasTwoEntries) {
  std::set<std::tuple<cuda::kernel_family, unsigned, unsigned>> seen;
  for (const cuda::partition_entry& e : cuda::partition_entries) {
    EXPECT_TRUE(seen.emplace(e.family, e.key_bytes, e.value_bytes).second) << e.key_bytes << ' ' << e.value_bytes;
    EXPECT_EQ(e.policy, cuda::partition_policy_of(e.family, e.key_bytes, e.value_bytes));
  }
}

TEST(cuda_tuning_test, EveryFamilyHasRoomForItsPartitions) {
  for (const cuda::kernel_family family : cuda::kernel_families) {
    for (const unsigned key_bytes : cuda::partition_key_bytes) {
      for (const unsigned value_bytes : cuda::partition_value_bytes) {
        const cuda::partition_policy sizes = cuda::partition_policy_of(family, key_bytes, value_bytes).sizes;
        EXPECT_GE(sizes.threads, cuda::max_partition_buckets);
        // A lower bound of what a tile takes: its records, and its warps' counters.
        const unsigned tile_bytes = sizes.threads * sizes.items * cuda::tile_record_bytes(key_bytes, value_bytes) +
                                    sizes.threads / 32 * cuda::max_partition_buckets * 4;
        EXPECT_LE(tile_bytes, cuda::most_shared_bytes(family)) << key_bytes << ' ' << value_bytes;
      }
    }
  }
}

TEST(cuda_tuning_test, JsonNamesFamilyAndSizes) {
  const std::string json = cuda::to_json({9, 0});
  EXPECT_NE(json.find(R"("family":"hopper")"), std::string::npos) << json;
  EXPECT_NE(json.find("384 threads, 30 items, 3 blocks, 4 states"), std::string::npos) << json;
  EXPECT_NE(cuda::to_json({7, 5}).find(R"("family":"turing")"), std::string::npos);
}

}  // namespace
}  // namespace spansort::test
