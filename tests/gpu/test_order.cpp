// SPDX-License-Identifier: Apache-2.0
// Order statistics on GPUs: of keys that lie there, and of keys in host memory that are copied there. The answers are
// the CPU's to the bit, the mean included; what the caller has put on a stream comes first; a call to the runtime may
// fail.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "base/test_hooks.hpp"
#include "device/block_sums.hpp"
#include "device/cuda/cuda_device.hpp"
#include "gpu/callers_kernels.hpp"
#include "gpu/gpu_test.hpp"
#include "keys/codec.hpp"
#include "keys/dispatch.hpp"
#include "spansort/errors.hpp"
#include "spansort/generate.hpp"
#include "spansort/resident_statistics.hpp"
#include "spansort/sort.hpp"
#include "support/engines.hpp"
#include "support/environment.hpp"
#include "support/order_check.hpp"
#include "support/select_check.hpp"
#include "support/shard_memory.hpp"

namespace spansort::test {
namespace {

class gpu_order_test : public gpu_test {
 protected:
  /// Every GPU of the machine once.
  static std::string all_gpus() {
    std::string list = "gpu:0";
    for (int i = 1; i < device::cuda::num_gpus(); ++i) {
      list += ",";
      list += std::to_string(i);
    }
    return list;
  }
};

TEST_F(gpu_order_test, BlockSumsAreTheHostsToTheBit) {
  const auto gpu = device::cuda::make_cuda_device({.name = "gpu:0", .ordinal = 0});
  gpu->prepare();
  const auto queue = gpu->make_queue();
  for (const key_type type : all_key_types()) {
    // The last is more than the workspace holds the sums of.
    for (const std::uint64_t n :
         {1ULL, 7ULL, 8ULL, 65'535ULL, 65'536ULL, 65'537ULL, 3'000'001ULL, 8192 * 65'536 + 9ULL}) {
      if (n > 10'000'000 && size_bytes(type) != 1) continue;
      const distribution d{n % 2 == 0 ? distribution_kind::normal : distribution_kind::special_floats};
      const std::vector<std::byte> keys = make_keys(type, n, d, seed_for(n));
      shard_memory memory("gpu:0", keys.size());
      memory.write(keys);
      std::vector<device::block_sum> sums((n + device::sum_block_keys - 1) / device::sum_block_keys);
      queue->wait_for_stream(nullptr);
      queue->sum_blocks({.type = type, .keys = memory.data(), .num_keys = n, .sums = sums.data()});
      queue->synchronize();
      for (std::size_t b = 0; b < sums.size(); ++b) {
        const std::uint64_t begin = b * device::sum_block_keys;
        const std::uint64_t count = std::min(device::sum_block_keys, n - begin);
        const device::block_sum expected = keys::with_type(type, [&]<class T>() {
          return device::sum_of_block(reinterpret_cast<const T*>(keys.data()) + begin, count);
        });
        const bool is_same = sums[b] == expected || (expected.of_floats != expected.of_floats &&
                                                     sums[b].of_floats != sums[b].of_floats);  // inf - inf
        ASSERT_TRUE(is_same) << name(type) << ", " << n << " keys, block " << b;
      }
    }
  }
}

TEST_F(gpu_order_test, KeysThatLieOnGpus) {
  std::uint64_t number = 0;
  for (const std::string& devices : {std::string("gpu:0"), std::string("gpu:0,0,0"), all_gpus()}) {
    const std::size_t num_shards = devices_of_list(devices).size();
    for (const key_type type : all_key_types()) {
      const std::uint64_t n = ++number % 3 == 0 ? 900'000 : 5'000;
      const distribution d{number % 2 == 0 ? distribution_kind::normal : distribution_kind::special_floats};
      const std::vector<std::byte> keys = make_keys(type, n, d, seed_for(number));
      EXPECT_EQ(diagnose_resident(keys, {.type = type, .devices = devices, .sizes = draw_sizes(n, num_shards, number)}),
                "")
          << name(type) << " on " << devices;
    }
  }
}

TEST_F(gpu_order_test, KeysInOrderOnGpus) {
  const std::uint64_t n = 400'000;
  std::vector<float> keys(n);
  generate(as_key_span(std::span(keys)), {distribution_kind::normal}, seed_for(1));
  for (const key_order order : {key_order::ascending, key_order::descending}) {
    sort(keys, keys::direction_of(order == key_order::descending), {.devices = "cpu"});
    const auto bytes = std::as_bytes(std::span(keys));
    EXPECT_EQ(diagnose_resident(
                  bytes, {.type = key_type::f32, .devices = "gpu:0,0", .sizes = draw_sizes(n, 2, 1), .order = order}),
              "");
  }
}

TEST_F(gpu_order_test, KeysOfTheHostCopiedToGpus) {
  for (const std::string& devices : {std::string("gpu:0"), std::string("gpu:0,0,0"), all_gpus()}) {
    for (const key_type type : {key_type::u8, key_type::i16, key_type::f32, key_type::f64}) {
      for (const std::uint64_t n : {1, 100, 3'000'000}) {
        const std::vector<std::byte> keys = make_keys(type, n, {distribution_kind::normal}, seed_for(n));
        EXPECT_EQ(diagnose_spread(keys, {.type = type, .devices = devices}), "")
            << n << " keys of " << name(type) << " on " << devices;
      }
    }
  }
}

TEST_F(gpu_order_test, WorkOnTheShardsStreamComesFirst) {
  const std::uint64_t n = 1'000'000;
  const gpu_memory memory = take_gpu_memory(n * sizeof(std::uint32_t));
  ASSERT_NE(memory, nullptr);
  ASSERT_EQ(cudaMemset(memory.get(), 0, n * sizeof(std::uint32_t)), cudaSuccess);
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  launch_slow_fill(static_cast<std::uint32_t*>(memory.get()), n, 12345, 50'000'000, stream);
  const std::vector<shard> shards{{.keys = memory.get(), .num_keys = n, .stream = stream}};
  const summary s = summarize({key_type::u32, shards}, {.devices = "gpu:0"});
  EXPECT_EQ(s.minimum, 12345);
  EXPECT_EQ(s.mean, 12345);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

TEST_F(gpu_order_test, AnyCallToTheRuntimeMayFail) {
  std::vector<std::uint32_t> keys(200'000);
  generate(as_key_span(std::span(keys)), {distribution_kind::normal}, seed_for(2));
  const std::vector<std::uint32_t> before = keys;
  const summary expected = summarize(keys, {.devices = "cpu"});
  unsigned num_failed = 0;
  unsigned num_in_a_row = 0;
  // Calls behind the last one that can fail are those of clean-up.
  for (std::uint64_t fail_at = 1; num_in_a_row < 20 && fail_at < 5'000 && !HasFailure(); ++fail_at) {
    SCOPED_TRACE("fail_device_call_at = " + std::to_string(fail_at));
    summary_options options{.devices = "gpu:0,0"};
    const base::test_hooks_scope hooks({.fail_device_call_at = fail_at});
    try {
      EXPECT_EQ(diagnose_summaries(summarize(keys, options), expected), "");
      ++num_in_a_row;
    } catch (const device_error& e) {
      EXPECT_EQ(e.device(), "gpu:0") << e.what();
      num_in_a_row = 0;
      ++num_failed;
    }
  }
  EXPECT_EQ(num_in_a_row, 20u);
  EXPECT_GT(num_failed, 20u);
  EXPECT_EQ(keys, before);
  EXPECT_EQ(diagnose_summaries(summarize(keys, {.devices = "gpu:0"}), expected), "");
}

TEST_F(gpu_order_test, KeysInTheWrongMemoryAreRefused) {
  std::vector<float> keys{1, 2, 3};
  const std::vector<shard> shards{{.keys = keys.data(), .num_keys = 3}};
  EXPECT_THROW(static_cast<void>(summarize({key_type::f32, shards}, {.devices = "gpu:0"})), invalid_argument);
}

}  // namespace
}  // namespace spansort::test
