// SPDX-License-Identifier: Apache-2.0
// Copies of ordinary memory through the ring, and past it where pinned memory is refused.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "device/cuda/cuda_error.hpp"
#include "device/cuda/handles.hpp"
#include "device/cuda/injected_faults.hpp"
#include "device/cuda/pinned_ring.hpp"
#include "gpu/gpu_test.hpp"
#include "spansort/errors.hpp"
#include "support/environment.hpp"
#include "support/guarded_array.hpp"

namespace spansort::device::cuda {
namespace {

constexpr std::uint64_t buffer_bytes = std::uint64_t{8} << 20;

class pinned_ring_test : public test::gpu_test {
 protected:
  static std::shared_ptr<injected_faults> fault_at(std::uint64_t call, cudaError_t status) {
    return std::make_shared<injected_faults>(injected_faults::settings{.fail_call_at = call, .fail_with = status});
  }

  enum class pinned { as_asked, refused };

  /// Expects that bytes go to the GPU and back, from and to odd addresses.
  static void expect_round_trip(pinned_ring& ring, std::uint64_t size_bytes, pinned memory = pinned::as_asked) {
    std::mt19937_64 random(test::seed_for(size_bytes));
    std::vector<std::byte> contents(size_bytes);
    std::ranges::generate(contents, [&] { return static_cast<std::byte>(random()); });
    test::guarded_array from(contents, 3);
    test::guarded_array to(size_bytes, 21);
    const stream_handle stream = make_stream();
    const device_memory on_gpu = allocate_device_memory(size_bytes);
    const auto faults = fault_at(memory == pinned::refused ? 1 : 0, cudaErrorMemoryAllocation);
    const fault_scope scope(faults);
    ring.copy_in(stream.get(), on_gpu.get(), from.data(), size_bytes);
    ring.copy_out(stream.get(), to.data(), on_gpu.get(), size_bytes);
    EXPECT_EQ(faults->calls_to_fault(), 0u);
    const bool is_same = std::ranges::equal(to.bytes(), contents);
    EXPECT_TRUE(is_same) << size_bytes << " bytes";
    EXPECT_EQ(to.corruption(), "") << size_bytes << " bytes";
  }

  /// Returns how many calls of the runtime the ring makes for a copy to the GPU.
  static std::uint64_t num_calls_of(pinned_ring& ring, std::uint64_t size_bytes) {
    const std::vector<std::byte> from(size_bytes);
    const stream_handle stream = make_stream();
    const device_memory on_gpu = allocate_device_memory(size_bytes);
    constexpr std::uint64_t many = 1'000'000;
    const auto faults = fault_at(many, cudaErrorUnknown);
    {
      const fault_scope scope(faults);
      ring.copy_in(stream.get(), on_gpu.get(), from.data(), size_bytes);
    }
    const std::uint64_t num_calls = many - faults->calls_to_fault();
    EXPECT_EQ(cudaStreamSynchronize(stream.get()), cudaSuccess);
    return num_calls;
  }
};

TEST_F(pinned_ring_test, CopiesOfAnySize) {
  pinned_ring ring;
  for (const std::uint64_t size : {std::uint64_t{1}, buffer_bytes - 1, buffer_bytes, 5 * buffer_bytes + 7}) {
    expect_round_trip(ring, size);
  }
}

TEST_F(pinned_ring_test, WithoutPinnedMemoryCopiesAreSlowerOnly) {
  pinned_ring ring;
  expect_round_trip(ring, buffer_bytes + 11, pinned::refused);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  // As long as nobody says that there may be some again. The ring's own path waits for events, the driver's does not.
  EXPECT_LT(num_calls_of(ring, 3 * buffer_bytes), 5u);
  ring.ask_again();
  EXPECT_GT(num_calls_of(ring, 5 * buffer_bytes + 7), 20u);
}

TEST_F(pinned_ring_test, GrowsWhileTheStreamReadsFromIt) {
  pinned_ring ring;
  const std::uint64_t small_bytes = 300'000;
  const std::uint64_t large_bytes = 6 * buffer_bytes + 5;
  const std::vector<std::byte> small(small_bytes, std::byte{17});
  const std::vector<std::byte> large(large_bytes, std::byte{42});
  const stream_handle stream = make_stream();
  const device_memory on_gpu = allocate_device_memory(small_bytes + large_bytes);
  auto* const behind = static_cast<std::byte*>(on_gpu.get()) + small_bytes;
  ring.copy_in(stream.get(), on_gpu.get(), small.data(), small_bytes);
  ring.copy_in(stream.get(), behind, large.data(), large_bytes);
  std::vector<std::byte> back(small_bytes + large_bytes);
  ring.copy_out(stream.get(), back.data(), on_gpu.get(), back.size());
  EXPECT_TRUE(std::equal(small.begin(), small.end(), back.begin()));
  EXPECT_TRUE(std::equal(large.begin(), large.end(), back.begin() + static_cast<std::ptrdiff_t>(small_bytes)));
}

TEST_F(pinned_ring_test, MayFailToGrowAtAnyCall) {
  std::uint64_t num_failures = 0;
  for (std::uint64_t fail_at = 1; fail_at < 16; ++fail_at) {
    pinned_ring ring;
    expect_round_trip(ring, 1000);
    const std::vector<std::byte> large(3 * buffer_bytes);
    const stream_handle stream = make_stream();
    const device_memory on_gpu = allocate_device_memory(large.size());
    try {
      const fault_scope faults(fault_at(fail_at, cudaErrorUnknown));
      ring.copy_in(stream.get(), on_gpu.get(), large.data(), large.size());
    } catch (const device_error&) {
      ++num_failures;
    }
    ASSERT_EQ(cudaStreamSynchronize(stream.get()), cudaSuccess);
    expect_round_trip(ring, 1000);
  }
  EXPECT_GT(num_failures, 10u);
}

}  // namespace
}  // namespace spansort::device::cuda
