// SPDX-License-Identifier: Apache-2.0
// Sorted keys leave a GPU by two ways at once, as they are and packed: the bytes are those of the CPU's sort, and the
// report shows both ways.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "base/test_hooks.hpp"
#include "gpu/gpu_test.hpp"
#include "spansort/generate.hpp"
#include "spansort/report.hpp"
#include "spansort/sort.hpp"
#include "support/environment.hpp"

namespace spansort::test {
namespace {

class gpu_packed_copies_test : public gpu_test {
 protected:
  [[nodiscard]] std::uint64_t bytes_moved(const std::string& name) const {
    std::uint64_t bytes = 0;
    for (const activity& a : report_.timeline) {
      if (a.name == name) bytes += a.bytes_moved;
    }
    return bytes;
  }

  void expect_sorted(const char* devices, key_type type, std::uint64_t num_keys, const char* shape, direction d) {
    SCOPED_TRACE(std::string(devices) + ", " + std::string(name(type)) + ", " + shape);
    std::vector<std::byte> keys(num_keys * size_bytes(type));
    generate(key_span{type, keys.data(), num_keys}, parse_distribution(shape), seed_for(num_keys));
    std::vector<std::byte> expected = keys;
    sort(key_span{type, expected.data(), num_keys}, d, {.devices = "cpu"});
    const base::test_hooks_scope hooks({.packing = base::key_packing::always});
    sorter s({.devices = devices, .algorithm = algorithm::rmg, .report = &report_});
    for (int i = 0; i < 2; ++i) {
      std::vector<std::byte> sorted = keys;
      report_ = {};
      s.sort(key_span{type, sorted.data(), num_keys}, d);
      EXPECT_TRUE(sorted == expected);
      EXPECT_EQ(bytes_moved("copy out") + bytes_moved("copy out packed"), 2 * sorted.size());
      EXPECT_GT(bytes_moved("copy out packed"), 0U);
    }
  }

  sort_report report_;
};

TEST_F(gpu_packed_copies_test, LeavesValuesAsTheyAre) {
  constexpr std::uint64_t n = 20'000'003;
  for (const char* devices : {"gpu:0", "gpu:0,0"}) {
    std::vector<std::int32_t> keys(n);
    generate(key_span{key_type::i32, keys.data(), n}, parse_distribution("zipf:1"), seed_for(n));
    std::vector<std::uint64_t> values(n);
    std::iota(values.begin(), values.end(), std::uint64_t{0});
    std::vector<std::int32_t> sorted_keys = keys;
    std::vector<std::uint64_t> sorted_values = values;
    sort_pairs(sorted_keys, sorted_values, {.devices = "cpu"});
    const base::test_hooks_scope hooks({.packing = base::key_packing::always});
    sorter s({.devices = devices, .algorithm = algorithm::rmg, .report = &report_});
    s.sort_pairs(keys, values);
    EXPECT_TRUE(keys == sorted_keys) << devices;
    EXPECT_TRUE(values == sorted_values) << devices;
    EXPECT_GT(bytes_moved("copy out packed"), 0U) << devices;
  }
}

TEST_F(gpu_packed_copies_test, HasTheBytesOfPinnedArrays) {
  constexpr std::uint64_t n = 40'000'001;
  void* memory = nullptr;
  ASSERT_EQ(cudaMallocHost(&memory, n * sizeof(double)), cudaSuccess);
  const std::unique_ptr<void, decltype([](void* m) { static_cast<void>(cudaFreeHost(m)); })> pinned(memory);
  std::vector<double> expected(n);
  generate(key_span{key_type::f64, expected.data(), n}, parse_distribution("uniform"), seed_for(n));
  std::memcpy(memory, expected.data(), n * sizeof(double));
  sort(expected, {.devices = "cpu"});
  const base::test_hooks_scope hooks({.packing = base::key_packing::always});
  sorter s({.devices = "gpu:0", .algorithm = algorithm::rmg});
  s.sort(key_span{key_type::f64, memory, n});
  EXPECT_EQ(std::memcmp(memory, expected.data(), n * sizeof(double)), 0);
}

TEST_F(gpu_packed_copies_test, HasTheBytesOfTheCpu) {
  constexpr std::uint64_t n = 20'000'017;
  for (const char* devices : {"gpu:0", "gpu:0,0,0"}) {
    for (const key_type type : {key_type::u32, key_type::f32, key_type::i64, key_type::f64}) {
      for (const char* shape : {"uniform", "zipf:1", "nearly-sorted"}) {
        expect_sorted(devices, type, n, shape, direction::ascending);
      }
    }
    expect_sorted(devices, key_type::u64, n, "normal", direction::descending);
    expect_sorted(devices, key_type::u32, n, "entropy:4", direction::descending);
  }
}

}  // namespace
}  // namespace spansort::test
