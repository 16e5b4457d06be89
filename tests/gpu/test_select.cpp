// SPDX-License-Identifier: Apache-2.0
// Order statistics without sorting on GPUs: the counting kernel against its definition, and selections of keys that lie on
// one GPU, on several, and on CPU and GPU.
#include <memory>
#include <string>
#include <vector>

#include "device/cuda/cuda_device.hpp"
#include "device/host/host_device.hpp"
#include "gpu/gpu_test.hpp"
#include "spansort/generate.hpp"
#include "support/engines.hpp"
#include "support/environment.hpp"
#include "support/oracle.hpp"
#include "support/select_check.hpp"

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
