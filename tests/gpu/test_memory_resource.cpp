// SPDX-License-Identifier: Apache-2.0
// Workspace from an allocator of the caller's.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>

#include "gpu/gpu_test.hpp"
#include "spansort/errors.hpp"
#include "spansort/sort.hpp"
#include "support/environment.hpp"
#include "support/sort_job.hpp"

namespace spansort::test {
namespace {

/// Counts, and refuses what goes beyond its limit.
class counting_resource : public gpu_memory_resource {
 public:
  explicit counting_resource(std::uint64_t limit_bytes) : limit_bytes_(limit_bytes) {}

  void* allocate(int ordinal, std::uint64_t size_bytes) override {
    int current = -1;
    EXPECT_EQ(cudaGetDevice(&current), cudaSuccess);
    EXPECT_EQ(current, ordinal);
    if (held_bytes + size_bytes > limit_bytes_) return nullptr;
    void* memory = nullptr;
    EXPECT_EQ(cudaMalloc(&memory, size_bytes), cudaSuccess);
    sizes_[memory] = size_bytes;
    held_bytes += size_bytes;
    most_bytes = std::max(most_bytes, held_bytes);
    return memory;
  }
  void deallocate(int, void* memory, std::uint64_t size_bytes) noexcept override {
    EXPECT_EQ(sizes_[memory], size_bytes);
    EXPECT_EQ(cudaFree(memory), cudaSuccess);
    held_bytes -= size_bytes;
  }

  std::uint64_t held_bytes = 0;
  std::uint64_t most_bytes = 0;

 private:
  std::uint64_t limit_bytes_;
  std::map<void*, std::uint64_t> sizes_;
};

class memory_resource_test : public gpu_test {
 protected:
  static constexpr std::uint64_t num_keys = 500'000;
  sort_job job{{operation::kind::pairs, 4},
               make_oracle(key_type::u32, num_keys, {distribution_kind::uniform}, seed_for(1), false)};
};

TEST_F(memory_resource_test, GivesAllWorkspaceAndGetsItBack) {
  for (const std::string devices : {"gpu:0", "gpu:0,0,0"}) {
    counting_resource resource(std::uint64_t{1} << 40);
    {
      sorter s({.devices = devices, .gpu_memory = &resource});
      job.reset();
      job.run(s);
      EXPECT_EQ(job.diagnose_done(), "");
      EXPECT_EQ(resource.held_bytes, s.workspace_bytes());
      EXPECT_GE(resource.most_bytes, 2 * num_keys * 8);
    }
    EXPECT_EQ(resource.held_bytes, 0u);
  }
}

TEST_F(memory_resource_test, ThatHasTooLittleLeavesTheInputUntouched) {
  counting_resource resource(num_keys * 8);
  sorter s({.devices = "gpu:0", .gpu_memory = &resource});
  job.reset();
  EXPECT_THROW(job.run(s), out_of_memory);
  EXPECT_EQ(job.diagnose_untouched(), "");
}

}  // namespace
}  // namespace spansort::test
