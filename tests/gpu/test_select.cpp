// SPDX-License-Identifier: Apache-2.0
// Order statistics without sorting on GPUs: the counting kernel against its definition, and selections of keys that lie
// on one GPU, on several, and on CPU and GPU.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "device/cuda/cuda_device.hpp"
#include "device/host/host_device.hpp"
#include "device/rank_sampler.hpp"
#include "gpu/gpu_test.hpp"
#include "spansort/generate.hpp"
#include "statistics/select_plan.hpp"
#include "statistics/take_sample.hpp"
#include "support/engines.hpp"
#include "support/environment.hpp"
#include "support/oracle.hpp"
#include "support/select_check.hpp"
#include "support/shard_memory.hpp"

namespace spansort::test {
namespace {

std::unique_ptr<device::device> open_gpu(int ordinal) {
  return device::cuda::make_cuda_device({.name = "gpu:" + std::to_string(ordinal), .ordinal = ordinal});
}

class gpu_select_test : public gpu_test {
 protected:
  static std::string diagnose(const std::vector<device::device*>& devices, const oracle& expected,
                              const std::vector<std::uint64_t>& sizes, statistics::select_report& report) {
    const std::uint64_t n = expected.num_keys();
    const std::vector<std::uint64_t> ranks{n / 2, 0, n - 1, n / 4, n / 4 * 3, n / 10, n / 2, n / 3, 1, n / 100 * 99};
    return diagnose_select(devices, expected.input(), expected.keys_alone(),
                           {expected.type(), expected.descending(), sizes}, ranks, &report);
  }
};

TEST_F(gpu_select_test, CountsAndCollectsByDefinition) {
  const auto gpu = open_gpu(0);
  std::uint64_t number = 0;
  for (const key_type type : all_key_types()) {
    for (const std::uint64_t num_keys : {0, 1, 31, 33, 4095, 4096, 8193, 100'000, 3'000'000}) {
      for (const std::size_t num_splitters : {0, 1, 2, 7, 12, 63}) {
        const std::uint64_t seed = seed_for(++number);
        random_words random(seed);
        const std::vector<std::byte> keys = make_keys(type, num_keys, {distribution_kind::entropy, 2}, seed);
        interval_case c{.type = type, .descending = random.below(2) == 0, .splitters = {}, .marked = random()};
        if (num_splitters != 0) c.splitters = draw_splitters(type, c.descending, keys, num_splitters, seed);
        c.capacity = random.below(3) == 0 ? random.below(num_keys + 1) : num_keys;
        EXPECT_EQ(diagnose_intervals(*gpu, keys, c), "")
            << name(type) << ", " << num_keys << " keys, " << num_splitters << " splitters";
      }
    }
  }
}

/// Quartiles have a kernel of its own: all splitters are bounds of marked intervals, of which
/// there are few.
TEST_F(gpu_select_test, FewIntervalsByDefinition) {
  const auto gpu = open_gpu(0);
  std::uint64_t number = 0;
  for (const key_type type :
       {key_type::u32, key_type::i32, key_type::f32, key_type::u64, key_type::i64, key_type::f64}) {
    for (const std::uint64_t num_keys : {0, 1, 3, 5, 511, 512, 517, 4097, 100'000, 3'000'001}) {
      for (std::uint64_t num_splitters = 1; num_splitters <= 6; ++num_splitters) {
        const std::uint64_t seed = seed_for(++number);
        random_words random(seed);
        const distribution d{num_keys % 2 == 0 ? distribution_kind::entropy : distribution_kind::sorted, 2};
        const std::vector<std::byte> keys = make_keys(type, num_keys, d, seed);
        // Every second one; a neighbour besides, which may be one too many for that kernel.
        interval_case c{.type = type, .descending = random.below(2) == 0, .splitters = {}, .marked = 0b0101010};
        if (number % 4 == 0) c.marked = 0b0110110;
        c.splitters = draw_splitters(type, c.descending, keys, num_splitters, seed);
        c.capacity = random.below(3) == 0 ? random.below(num_keys + 1) : num_keys;
        c.first_key = number % 5;
        EXPECT_EQ(diagnose_intervals(*gpu, keys, c), "")
            << name(type) << ", " << num_keys << " keys, " << num_splitters << " splitters, from key " << c.first_key;
      }
    }
  }
}

/// The host's sample of the same keys is the same, and says the same.
TEST_F(gpu_select_test, SampleOnTheGpuSaysWhatTheHostsDoes) {
  const auto gpu = open_gpu(0);
  gpu->prepare();
  const auto queue = gpu->make_queue();
  auto* const sampler = dynamic_cast<device::rank_sampler*>(queue.get());
  ASSERT_NE(sampler, nullptr);
  std::uint64_t number = 0;
  for (const key_type type : all_key_types()) {
    for (const std::uint64_t num_keys : {20'000, 300'001, 3'000'000}) {
      const distribution d{++number % 3 == 0 ? distribution_kind::nearly_sorted : distribution_kind::entropy, 2};
      const std::vector<std::byte> keys = make_keys(type, num_keys, d, seed_for(number));
      const keys::key_codec codec{type, number % 2 == 0, keys::tie_rule::by_bits};
      shard_memory memory("gpu:0", keys.size());
      memory.write(keys);
      queue->wait_for_stream(nullptr);
      const std::vector<statistics::key_chunk> chunk{{gpu.get(), queue.get(), memory.data(), num_keys}};
      // Of no more keys than this the host takes all.
      const std::uint64_t most = std::min(device::rank_sampler::most_sampled_keys, num_keys / 2);
      const statistics::key_sample sample = statistics::take_sample(codec, chunk, {0, num_keys}, most);
      const std::uint64_t last = sample.keys.size() - 1;
      const std::vector<std::uint64_t> places{0, last / 4, last / 2, last / 4 * 3, last};
      std::vector<device::rank_bracket> found(places.size());
      sampler->bracket_ranks({.codec = codec,
                              .keys = memory.data(),
                              .num_keys = num_keys,
                              .num_runs = statistics::num_sample_runs(num_keys, most, sample.run_keys),
                              .places = places,
                              .brackets = found.data()});
      queue->synchronize();
      EXPECT_EQ(found, statistics::bracket_targets(sample, places)) << name(type) << ", " << num_keys << " keys";
    }
  }
}

TEST_F(gpu_select_test, AllTypesAndDistributionsOnOneGpu) {
  const auto gpu = open_gpu(0);
  const std::uint64_t n = 200'000;
  std::uint64_t number = 0;
  for (const key_type type : all_key_types()) {
    for (const distribution& d : all_distributions()) {
      ++number;
      const oracle expected = make_oracle(type, n, d, seed_for(number), number % 2 == 0);
      statistics::select_report report;
      EXPECT_EQ(diagnose({gpu.get()}, expected, draw_sizes(n, 1 + number % 4, seed_for(500 + number)), report), "")
          << name(type) << " " << to_string(d);
    }
  }
}

TEST_F(gpu_select_test, OneReadOfUniformKeys) {
  const auto gpu = open_gpu(0);
  const std::uint64_t n = std::uint64_t{1} << 22;
  const oracle expected = make_oracle(key_type::f32, n, {}, seed_for(1), false);
  statistics::select_report report;
  EXPECT_EQ(diagnose({gpu.get()}, expected, {n}, report), "");
  EXPECT_LE(report.num_reads, 4U);  // nine different ranks: two batches
}

TEST_F(gpu_select_test, KeysOnAllGpusAndTheHost) {
  std::vector<std::unique_ptr<device::device>> owned;
  for (int i = 0; i < device::cuda::num_gpus(); ++i) owned.push_back(open_gpu(i));
  owned.push_back(device::host::make_host_device({.num_threads = 2}));
  std::vector<device::device*> devices;
  for (const auto& d : owned) devices.push_back(d.get());
  const std::uint64_t n = 2'000'000;
  for (const key_type type : {key_type::u32, key_type::f64}) {
    const oracle expected = make_oracle(type, n, {distribution_kind::normal}, seed_for(2), false);
    statistics::select_report report;
    EXPECT_EQ(diagnose(devices, expected, draw_sizes(n, devices.size() + 2, seed_for(3)), report), "") << name(type);
  }
}

}  // namespace
}  // namespace spansort::test
