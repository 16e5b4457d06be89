// SPDX-License-Identifier: Apache-2.0
// Workspace from an allocator of the caller's.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "gpu/gpu_test.hpp"
#include "spansort/errors.hpp"
#include "spansort/generate.hpp"
#include "spansort/resident.hpp"
#include "spansort/sort.hpp"
#include "support/environment.hpp"
#include "support/sort_job.hpp"

namespace spansort::test {
namespace {

/// Counts, and refuses what goes beyond its limit.
class counting_resource : public gpu_memory_resource {
 public:
  explicit counting_resource(std::uint64_t limit_bytes) : limit_bytes_(limit_bytes) {}

  void* allocate(int ordinal, std::uint64_t size_bytes, void* stream) override {
    EXPECT_EQ(stream, nullptr) << "these sorts are of host memory";
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

/// Gives memory in the order of the stream that asks for it.
class stream_ordered_resource : public gpu_memory_resource {
 public:
  void* allocate(int, std::uint64_t size_bytes, void* stream) override {
    void* memory = nullptr;
    EXPECT_EQ(cudaMallocAsync(&memory, size_bytes, static_cast<cudaStream_t>(stream)), cudaSuccess);
    if (stream != nullptr) {
      ++num_on_streams;
    } else {
      // What asks for no stream must be able to use the memory on any.
      EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    }
    return memory;
  }
  void deallocate(int, void* memory, std::uint64_t) noexcept override {
    EXPECT_EQ(cudaFreeAsync(memory, nullptr), cudaSuccess);
  }

  unsigned num_on_streams = 0;
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

TEST_F(memory_resource_test, IsToldTheStreamOfAResidentSort) {
  const std::uint64_t n = 3'000'000;
  std::vector<std::uint32_t> keys(n);
  generate(as_key_span(std::span(keys)), {distribution_kind::uniform}, seed_for(2));
  const gpu_memory memory = take_gpu_memory(n * sizeof(std::uint32_t));
  ASSERT_NE(memory, nullptr);
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  stream_ordered_resource resource;
  {
    ASSERT_EQ(cudaMemcpy(memory.get(), keys.data(), n * sizeof(std::uint32_t), cudaMemcpyHostToDevice), cudaSuccess);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    std::vector<shard> shards{{.keys = memory.get(), .num_keys = n, .stream = stream}};
    resident_sorter s({.devices = "gpu:0", .gpu_memory = &resource});
    s.sort({key_type::u32, shards});
    EXPECT_EQ(resource.num_on_streams, 1u);
  }
  std::vector<std::uint32_t> sorted(n);
  ASSERT_EQ(cudaMemcpy(sorted.data(), memory.get(), n * sizeof(std::uint32_t), cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  std::ranges::sort(keys);
  EXPECT_TRUE(sorted == keys);
}

}  // namespace
}  // namespace spansort::test
