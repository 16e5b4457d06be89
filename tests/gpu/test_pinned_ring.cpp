// SPDX-License-Identifier: Apache-2.0
// Copies of ordinary memory through the ring, and past it where pinned memory is refused.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "device/cuda/cuda_error.hpp"
#include "device/cuda/handles.hpp"
#include "device/cuda/pinned_ring.hpp"
#include "gpu/gpu_test.hpp"
#include "support/environment.hpp"
#include "support/guarded_array.hpp"

namespace spansort::device::cuda {
namespace {

constexpr std::uint64_t buffer_bytes = std::uint64_t{8} << 20;

class pinned_ring_test : public test::gpu_test {
 protected:
  void TearDown() override {
    arm_fault(0, cudaErrorUnknown);
    gpu_test::TearDown();
  }

  enum class pinned { as_asked, refused };

  /// To the GPU and back, from and to odd places.
  static void expect_round_trip(pinned_ring& ring, std::uint64_t size_bytes, pinned memory = pinned::as_asked) {
    std::mt19937_64 random(test::seed_for(size_bytes));
    std::vector<std::byte> contents(size_bytes);
    std::ranges::generate(contents, [&] { return static_cast<std::byte>(random()); });
    test::guarded_array from(contents, 3);
    test::guarded_array to(size_bytes, 21);
    const stream_handle stream = make_stream();
    const device_memory on_gpu = allocate_device_memory(size_bytes);
    if (memory == pinned::refused) arm_fault(1, cudaErrorMemoryAllocation);
    ring.copy_in(stream.get(), on_gpu.get(), from.data(), size_bytes);
    ring.copy_out(stream.get(), to.data(), on_gpu.get(), size_bytes);
    const bool is_same = std::ranges::equal(to.bytes(), contents);
    EXPECT_TRUE(is_same) << size_bytes << " bytes";
    EXPECT_EQ(to.damage(), "") << size_bytes << " bytes";
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
  EXPECT_EQ(calls_to_fault, 0u);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  // As long as nobody says that there may be some again.
  expect_round_trip(ring, 3 * buffer_bytes);
  ring.ask_again();
  expect_round_trip(ring, 5 * buffer_bytes + 7);
}

}  // namespace
}  // namespace spansort::device::cuda
