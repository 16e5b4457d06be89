// SPDX-License-Identifier: Apache-2.0
// The stable order of keys that lie on GPUs: on one without a queue, by buckets and by passes; with a report, and over
// the ranks of longer lists, by copies of the keys; behind the caller's own work; any call to the runtime may fail.
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/test_hooks.hpp"
#include "gpu/callers_kernels.hpp"
#include "gpu/gpu_test.hpp"
#include "spansort/errors.hpp"
#include "spansort/report.hpp"
#include "spansort/resident.hpp"
#include "support/engines.hpp"
#include "support/environment.hpp"
#include "support/oracle.hpp"
#include "support/select_check.hpp"
#include "support/shard_argsort.hpp"

namespace spansort::test {
namespace {

class gpu_resident_argsort_test : public gpu_test {};

void expect_argsorts(resident_sorter& s, const std::string& list, std::span<const std::uint64_t> sizes) {
  const std::size_t num_shards = devices_of_list(list).size();
  std::uint64_t number = 0;
  for (const key_type type : all_key_types()) {
    for (const std::uint64_t n : sizes) {
      ++number;
      const distribution d{number % 2 == 0 ? distribution_kind::special_floats : distribution_kind::uniform};
      const oracle expected = make_oracle(type, n, d, seed_for(number), number % 3 == 0);
      const std::vector<std::uint64_t> cut = draw_sizes(n, num_shards, number);
      ASSERT_EQ(diagnose_argsort_of_shards(s, list, expected, cut, number % 5 < 2 ? 4 : 8), "")
          << name(type) << ", n " << n << " on " << list;
    }
  }
}

TEST_F(gpu_resident_argsort_test, OnOneGpuWithoutAQueue) {
  resident_sorter s({.devices = "gpu:0"});
  expect_argsorts(s, "gpu:0", std::vector<std::uint64_t>{0, 1, 2, 9, 1000, 8'193, 300'000, 1'100'000});
}

TEST_F(gpu_resident_argsort_test, ByBucketsAndByPasses) {
  for (const base::gpu_buckets buckets : {base::gpu_buckets::always, base::gpu_buckets::where_even,
                                          base::gpu_buckets::never, base::gpu_buckets::by_spread}) {
    const base::test_hooks_scope hooks({.buckets = buckets});
    resident_sorter s({.devices = "gpu:0"});
    for (const key_type type : {key_type::u64, key_type::i64, key_type::f64, key_type::u32, key_type::f32}) {
      for (const char* const shape : {"uniform", "zipf:1", "special-floats", "sorted", "reverse", "zero"}) {
        for (const std::uint64_t n : {63U, 64U, 20'011U, 600'011U}) {
          for (const std::uint64_t index_bytes : {4U, 8U}) {
            const oracle expected = make_oracle(type, n, parse_distribution(shape), seed_for(n), index_bytes == 4);
            ASSERT_EQ(diagnose_argsort_of_shards(s, "gpu:0", expected, {n}, index_bytes), "")
                << name(type) << ", " << shape << ", n " << n;
          }
        }
      }
    }
  }
}

TEST_F(gpu_resident_argsort_test, WithAReportAndOverSeveralRanks) {
  for (const char* const list : {"gpu:0", "gpu:0,0", "gpu:0,0,0", "gpu:0,0,0,0,0,0,0"}) {
    sort_report report;
    resident_sorter s({.devices = list, .report = &report});
    expect_argsorts(s, list, std::vector<std::uint64_t>{0, 1, 9, 1000, 300'000});
    EXPECT_EQ(report.operation, "argsort");
  }
}

TEST_F(gpu_resident_argsort_test, KeepsWithinALimitOfMemory) {
  const std::uint64_t n = 1'000'000;
  const oracle expected = make_oracle(key_type::u64, n, {distribution_kind::uniform}, seed_for(1), false);
  const argsort_of_shards job("gpu:0", expected, {n}, 8);
  sort_options options{.devices = "gpu:0", .device_memory_bytes = 1000};
  try {
    resident_sorter(options).argsort({key_type::u64, std::span<const shard>(job.shards)}, job.indices, 8);
    FAIL() << "1000 bytes were enough";
  } catch (const out_of_memory& e) {
    EXPECT_GE(e.needed_bytes(), n * 24);
    options.device_memory_bytes = e.needed_bytes();
  }
  resident_sorter s(options);
  job.run(s);
  EXPECT_EQ(job.diagnose(), "");
}

TEST_F(gpu_resident_argsort_test, WorkOnTheShardsStreamComesFirst) {
  const std::uint64_t n = 1'000'000;
  const std::vector<std::uint32_t> equal(n, 12345);
  for (const char* const list : {"gpu:0", "gpu:0,0"}) {
    const bool has_two = devices_of_list(list).size() == 2;
    const oracle expected = make_oracle(key_type::u32, n, {distribution_kind::zero}, seed_for(1), false);
    const std::vector<std::uint64_t> sizes = has_two ? std::vector<std::uint64_t>{n, 0} : std::vector<std::uint64_t>{n};
    argsort_of_shards job(list, expected, sizes, 4);
    // Until the stream has filled them the keys are in opposite order.
    std::vector<std::uint32_t> falling(n);
    for (std::uint64_t i = 0; i < n; ++i) falling[i] = static_cast<std::uint32_t>(n - i);
    ASSERT_EQ(cudaMemcpy(job.shards[0].keys, falling.data(), n * 4, cudaMemcpyHostToDevice), cudaSuccess);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    cudaStream_t stream = nullptr;
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
    launch_slow_fill(static_cast<std::uint32_t*>(job.shards[0].keys), n, 12345, 50'000'000, stream);
    job.shards[0].stream = stream;
    resident_sorter s({.devices = list});
    job.run(s);
    std::vector<std::uint32_t> keys(n);
    std::vector<std::uint32_t> order(n);
    ASSERT_EQ(cudaMemcpy(keys.data(), job.shards[0].keys, n * 4, cudaMemcpyDeviceToHost), cudaSuccess);
    ASSERT_EQ(cudaMemcpy(order.data(), job.indices[0], n * 4, cudaMemcpyDeviceToHost), cudaSuccess);
    EXPECT_EQ(keys, equal);
    for (std::uint64_t i = 0; i < n; ++i) ASSERT_EQ(order[i], i) << list;
    EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  }
}

TEST_F(gpu_resident_argsort_test, AnyCallToTheRuntimeMayFail) {
  const std::uint64_t n = 200'000;
  const oracle expected = make_oracle(key_type::u32, n, {distribution_kind::uniform}, seed_for(2), false);
  for (const char* const list : {"gpu:0", "gpu:0,0"}) {
    const std::vector<std::uint64_t> sizes = draw_sizes(n, devices_of_list(list).size(), 1);
    unsigned num_failed = 0;
    unsigned num_in_a_row = 0;
    // Calls behind the last one that can fail are those of clean-up.
    for (std::uint64_t fail_at = 1; num_in_a_row < 20 && fail_at < 5'000 && !HasFailure(); ++fail_at) {
      SCOPED_TRACE(std::string(list) + ", fail_device_call_at = " + std::to_string(fail_at));
      const argsort_of_shards job(list, expected, sizes, 4);
      const base::test_hooks_scope hooks({.fail_device_call_at = fail_at});
      try {
        resident_sorter s({.devices = list});
        job.run(s);
        EXPECT_EQ(job.diagnose(), "");
        ++num_in_a_row;
      } catch (const device_error& e) {
        EXPECT_EQ(e.device(), "gpu:0") << e.what();
        EXPECT_EQ(job.diagnose_keys(), "");
        num_in_a_row = 0;
        ++num_failed;
      }
    }
    EXPECT_EQ(num_in_a_row, 20U);
    EXPECT_GT(num_failed, 5U);
  }
}

TEST_F(gpu_resident_argsort_test, MemoryOfTheHostIsRefused) {
  const oracle expected = make_oracle(key_type::f32, 100, {distribution_kind::uniform}, seed_for(3), false);
  argsort_of_shards job("gpu:0", expected, {100}, 8);
  std::vector<std::uint64_t> on_the_host(100);
  job.indices[0] = on_the_host.data();
  resident_sorter s({.devices = "gpu:0"});
  try {
    job.run(s);
    FAIL() << "no exception";
  } catch (const invalid_argument& e) {
    EXPECT_STREQ(e.what(), "shard 0: its indices do not lie in the memory of gpu:0");
  }
}

}  // namespace
}  // namespace spansort::test
