// SPDX-License-Identifier: Apache-2.0
// Whatever the caller has set up with the CUDA runtime stays as it was: current device, work on streams, a
// pending error.
#include <cstdint>
#include <string>
#include <vector>

#include "base/test_hooks.hpp"
#include "gpu/callers_kernels.hpp"
#include "gpu/gpu_test.hpp"
#include "spansort/errors.hpp"
#include "spansort/sort.hpp"
#include "support/environment.hpp"
#include "support/sort_job.hpp"

namespace spansort::test {
namespace {

const operation operations[] = {{operation::kind::keys, 0}, {operation::kind::pairs, 4}, {operation::kind::argsort, 4}};

/// The caller's work while the library sorts: a kernel that takes its time, on a stream of the current device.
class pending_work {
 public:
  pending_work() : memory_(take_gpu_memory(count * sizeof(std::uint32_t))) {
    EXPECT_EQ(cudaStreamCreate(&stream_), cudaSuccess);
    launch_slow_fill(static_cast<std::uint32_t*>(memory_.get()), count, word, 50'000'000, stream_);
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  }
  ~pending_work() { EXPECT_EQ(cudaStreamDestroy(stream_), cudaSuccess); }
  pending_work(const pending_work&) = delete;
  pending_work& operator=(const pending_work&) = delete;

  void expect_not_ready() { EXPECT_EQ(cudaStreamQuery(stream_), cudaErrorNotReady); }
  void expect_done_right() {
    ASSERT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
    std::vector<std::uint32_t> words(count);
    ASSERT_EQ(cudaMemcpy(words.data(), memory_.get(), count * sizeof(std::uint32_t), cudaMemcpyDeviceToHost),
              cudaSuccess);
    EXPECT_EQ(words, std::vector<std::uint32_t>(count, word));
  }

 private:
  static constexpr std::uint64_t count = 1'000'000;
  static constexpr std::uint32_t word = 0xC0FFEE;

  gpu_memory memory_;
  cudaStream_t stream_ = nullptr;
};

/// Parameter: the caller's current device. The sort runs on GPU 0.
class callers_state_test : public gpu_test, public testing::WithParamInterface<int> {
 protected:
  void SetUp() override {
    gpu_test::SetUp();
    if (IsSkipped()) return;
    int num_gpus = 0;
    ASSERT_EQ(cudaGetDeviceCount(&num_gpus), cudaSuccess);
    if (GetParam() >= num_gpus) GTEST_SKIP() << "needs " << GetParam() + 1 << " GPUs; this machine has " << num_gpus;
    ASSERT_EQ(cudaSetDevice(GetParam()), cudaSuccess);
  }
  void TearDown() override {
    gpu_test::TearDown();
    if (!IsSkipped()) {
      EXPECT_EQ(cudaSetDevice(0), cudaSuccess);
    }
  }

  /// `fail_at`: as test_hooks::fail_device_call_at.
  void sort_beside_pending_work(const operation& op, const std::string& devices, std::uint64_t fail_at) {
    SCOPED_TRACE(describe(op) + " on " + devices + ", fail_device_call_at = " + std::to_string(fail_at));
    sort_job job(op, make_oracle(key_type::u32, 300'000, {distribution_kind::uniform}, seed_for(1), false));
    sort_options options{.devices = devices, .algorithm = devices == "gpu:0" ? algorithm::single : algorithm::rmg};
    const base::test_hooks_scope hooks({.fail_device_call_at = fail_at});
    pending_work work;
    try {
      sorter s(options);
      job.run(s);
      EXPECT_EQ(fail_at, 0u) << "the fault was not met";
      EXPECT_EQ(job.diagnose_done(), "");
    } catch (const device_error& e) {
      EXPECT_NE(fail_at, 0u) << e.what();
    }
    int device = -1;
    EXPECT_EQ(cudaGetDevice(&device), cudaSuccess);
    EXPECT_EQ(device, GetParam());
    EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
    work.expect_done_right();
  }
};

TEST_P(callers_state_test, IsAsBeforeAfterASort) {
  for (const operation& op : operations) {
    for (const char* devices : {"gpu:0", "gpu:0,0,0"}) sort_beside_pending_work(op, devices, 0);
  }
}

TEST_P(callers_state_test, IsAsBeforeAfterAFailedSort) {
  for (const operation& op : operations) {
    for (const char* devices : {"gpu:0", "gpu:0,0,0"}) {
      for (const std::uint64_t fail_at : {1, 2, 3, 10, 30, 45}) sort_beside_pending_work(op, devices, fail_at);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Gpu, callers_state_test, testing::Values(0, 1),
                         [](const auto& param) { return "current_device_" + std::to_string(param.param); });

class pending_error_test : public gpu_test {};

TEST_F(pending_error_test, IsLeftToTheCaller) {
  sort_job job({operation::kind::keys, 0},
               make_oracle(key_type::u32, 300'000, {distribution_kind::uniform}, seed_for(2), false));
  sorter s({.devices = "gpu:0"});
  for (const bool devices_are_open : {false, true}) {
    SCOPED_TRACE(devices_are_open);
    job.reset();
    ASSERT_EQ(cudaSetDevice(12'345), cudaErrorInvalidDevice);
    ASSERT_EQ(cudaPeekAtLastError(), cudaErrorInvalidDevice) << "the runtime keeps no such error";
    try {
      job.run(s);
      ADD_FAILURE() << "the sort began";
    } catch (const device_error& e) {
      EXPECT_NE(std::string(e.what()).find("a CUDA error was pending before this call: "), std::string::npos)
          << e.what();
      EXPECT_NE(std::string(e.what()).find("cudaErrorInvalidDevice"), std::string::npos) << e.what();
    }
    EXPECT_EQ(job.diagnose_untouched(), "");
    EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidDevice) << "the caller's error was taken away";
    job.run(s);
    EXPECT_EQ(job.diagnose_done(), "");
  }
}

TEST_F(pending_error_test, ConcernsNoSortOnTheCpu) {
  sort_job job({operation::kind::keys, 0},
               make_oracle(key_type::u32, 300'000, {distribution_kind::uniform}, seed_for(3), false));
  ASSERT_EQ(cudaSetDevice(12'345), cudaErrorInvalidDevice);
  sorter s({.devices = "cpu"});
  job.run(s);
  EXPECT_EQ(job.diagnose_done(), "");
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidDevice);
}

/// A caller who polls: "not ready" is kept by the runtime like an error, and is none.
TEST_F(pending_error_test, WorkThatIsNotReadyIsNoError) {
  sort_job job({operation::kind::keys, 0},
               make_oracle(key_type::u32, 300'000, {distribution_kind::uniform}, seed_for(4), false));
  sorter s({.devices = "gpu:0"});
  pending_work work;
  work.expect_not_ready();
  job.run(s);
  EXPECT_EQ(job.diagnose_done(), "");
  work.expect_done_right();
}

}  // namespace
}  // namespace spansort::test
