// SPDX-License-Identifier: Apache-2.0
// Every kind of host memory that arrays may lie in, and too little memory on the GPU.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "gpu/gpu_test.hpp"
#include "spansort/check.hpp"
#include "spansort/errors.hpp"
#include "spansort/generate.hpp"
#include "spansort/report.hpp"
#include "spansort/sort.hpp"
#include "support/engines.hpp"
#include "support/environment.hpp"
#include "support/oracle.hpp"

namespace spansort::test {
namespace {

enum class host_memory { pageable, pinned, registered };
constexpr const char* names[] = {"pageable", "pinned", "registered"};

class host_array {
 public:
  host_array(host_memory kind, std::span<const std::byte> contents) : kind_(kind), size_bytes_(contents.size()) {
    if (kind == host_memory::pinned) {
      EXPECT_EQ(cudaMallocHost(&data_, size_bytes_), cudaSuccess);
    } else {
      constexpr std::size_t page_bytes = 4096;
      data_ = std::aligned_alloc(page_bytes, (size_bytes_ + page_bytes - 1) / page_bytes * page_bytes);
    }
    if (kind == host_memory::registered) {
      EXPECT_EQ(cudaHostRegister(data_, size_bytes_, cudaHostRegisterDefault), cudaSuccess);
    }
    if (data_ != nullptr) std::memcpy(data_, contents.data(), size_bytes_);
  }
  ~host_array() {
    if (kind_ == host_memory::registered) {
      EXPECT_EQ(cudaHostUnregister(data_), cudaSuccess);
    }
    if (kind_ == host_memory::pinned) {
      EXPECT_EQ(cudaFreeHost(data_), cudaSuccess);
    } else {
      std::free(data_);
    }
  }
  host_array(const host_array&) = delete;
  host_array& operator=(const host_array&) = delete;

  [[nodiscard]] void* data() const { return data_; }
  [[nodiscard]] std::span<const std::byte> bytes() const { return {static_cast<const std::byte*>(data_), size_bytes_}; }

 private:
  host_memory kind_;
  void* data_ = nullptr;
  std::uint64_t size_bytes_;
};

/// Parameters: memory of the keys, memory of the values, the device list.
class host_memory_test : public gpu_test,
                         public testing::WithParamInterface<std::tuple<host_memory, host_memory, const char*>> {
 protected:
  // More bytes than go through the pinned buffers of a copy in one round.
  static constexpr std::uint64_t num_keys = 12'000'000;
  static const oracle& expected() {
    static const oracle made = make_oracle(key_type::u32, num_keys, {distribution_kind::zipf, 0.5}, seed_for(1), false);
    return made;
  }
  host_memory of_keys = std::get<0>(GetParam());
  host_memory of_values = std::get<1>(GetParam());
  const char* devices = std::get<2>(GetParam());
};

TEST_P(host_memory_test, MakesNoDifference) {
  sorter s({.devices = devices});
  const host_array keys(of_keys, expected().input());
  const host_array values(of_values, input_values(num_keys, 4));
  s.sort_pairs(key_span{key_type::u32, keys.data(), num_keys}, values.data(), 4);
  EXPECT_EQ(diagnose_bytes("key", expected().keys_of_pairs(), keys.bytes(), 4), "");
  EXPECT_EQ(diagnose_bytes("value", values_in_order(expected().order(), 4), values.bytes(), 4), "");
  if (of_keys != of_values) return;
  const host_array keys_alone(of_keys, expected().input());
  s.sort(key_span{key_type::u32, keys_alone.data(), num_keys});
  EXPECT_EQ(diagnose_bytes("key", expected().keys_alone(), keys_alone.bytes(), 4), "");
}

constexpr host_memory all_kinds[] = {host_memory::pageable, host_memory::pinned, host_memory::registered};
INSTANTIATE_TEST_SUITE_P(Gpu, host_memory_test,
                         testing::Combine(testing::ValuesIn(all_kinds), testing::ValuesIn(all_kinds),
                                          testing::Values("gpu:0", "gpu:0,0,0")),
                         [](const auto& param) {
                           return std::string(names[static_cast<int>(std::get<0>(param.param))]) + "_keys_" +
                                  names[static_cast<int>(std::get<1>(param.param))] + "_values_" +
                                  test_name(std::get<2>(param.param));
                         });

class too_little_memory_test : public gpu_test, public testing::WithParamInterface<const char*> {
 protected:
  /// The sort throws out_of_memory, which names both figures, with the keys as they were.
  void expect_refused(sorter& s, std::vector<std::uint32_t>& keys) {
    const const_key_span span = as_const_key_span(std::span<const std::uint32_t>(keys));
    const multiset_checksum before = checksum(span);
    const std::vector<std::uint32_t> first(keys.begin(), keys.begin() + 1000);
    try {
      s.sort(keys);
      ADD_FAILURE() << "the sort succeeded";
    } catch (const out_of_memory& e) {
      const std::string what = e.what();
      EXPECT_GT(e.needed_bytes(), e.available_bytes()) << what;
      EXPECT_NE(what.find(std::to_string(e.needed_bytes())), std::string::npos) << what;
      EXPECT_NE(what.find(std::to_string(e.available_bytes())), std::string::npos) << what;
      EXPECT_EQ(e.exit_status(), 6);
    }
    EXPECT_EQ(checksum(span), before);
    EXPECT_TRUE(std::equal(first.begin(), first.end(), keys.begin())) << "the keys were moved";
  }
};

TEST_P(too_little_memory_test, ALimitIsKept) {
  std::vector<std::uint32_t> keys(1 << 20);
  generate(as_key_span(std::span(keys)), {}, seed_for(2));
  for (const std::uint64_t limit : {std::uint64_t{1}, std::uint64_t{4} << 20}) {
    SCOPED_TRACE(limit);
    sorter s({.devices = GetParam(), .memory_limit_bytes = limit});
    expect_refused(s, keys);
  }
}

TEST_P(too_little_memory_test, InputLargerThanWhatIsFree) {
  constexpr std::uint64_t left_bytes = std::uint64_t{256} << 20;
  std::vector<std::uint32_t> keys(left_bytes / sizeof(std::uint32_t));  // fits, but not with the space it is sorted in
  generate(as_key_span(std::span(keys)), {}, seed_for(3));
  const bool is_one = std::string(GetParam()) == "gpu:0";
  sorter s({.devices = GetParam(), .algorithm = is_one ? algorithm::single : algorithm::rmg});
  sort_report report;
  sorter in_parts({.devices = GetParam(), .report = &report});
  std::vector<std::uint32_t> few(keys.begin(), keys.begin() + 100'000);
  s.sort(few);  // opens the devices
  in_parts.sort(few);

  std::vector<gpu_memory> ballast;
  for (std::uint64_t bytes = free_gpu_bytes(); bytes >= std::uint64_t{2} << 20;) {
    const std::uint64_t free_bytes = free_gpu_bytes();
    if (free_bytes <= left_bytes) break;
    gpu_memory taken = take_gpu_memory(std::min(bytes, free_bytes - left_bytes));
    if (taken == nullptr) {
      bytes /= 2;
    } else {
      ballast.push_back(std::move(taken));
    }
  }
  expect_refused(s, keys);
  const const_key_span span = as_const_key_span(std::span<const std::uint32_t>(keys));
  const multiset_checksum before = checksum(span);
  const std::vector<std::uint32_t> unsorted = keys;
  in_parts.sort(keys);
  EXPECT_EQ(report.algorithm, "out_of_core");
  EXPECT_FALSE(check(span).first_disorder);
  EXPECT_EQ(checksum(span), before);

  ballast.clear();
  keys = unsorted;
  s.sort(keys);
  EXPECT_FALSE(check(span).first_disorder);
  EXPECT_EQ(checksum(span), before);
}

INSTANTIATE_TEST_SUITE_P(Gpu, too_little_memory_test, testing::Values("gpu:0", "gpu:0,0,0"),
                         [](const auto& param) { return test_name(param.param); });

}  // namespace
}  // namespace spansort::test
