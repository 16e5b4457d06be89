// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/kernels/positions.hpp"

#include "base/assert.hpp"
#include "device/cuda/cuda_error.hpp"
#include "device/cuda/tuning/striding_policies.hpp"

namespace spansort::device::cuda {
namespace {

template <class Index>
__global__ void write_positions_kernel(Index* positions, std::uint64_t count, std::uint64_t first) {
  const std::uint64_t step = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    positions[i] = static_cast<Index>(first + i);
  }
}

/// Writes the order of keys that are sorted, or sorted the other way round.
template <class Index>
__global__ void write_ordered_positions_kernel(const order_action* decision, Index* positions, std::uint64_t count) {
  const order_action action = *decision;
  if (action == order_action::passes) return;
  const std::uint64_t step = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    positions[i] = static_cast<Index>(action == order_action::keep ? i : count - 1 - i);
  }
}

}  // namespace

void launch_ordered_positions(const launch_site& site, const order_action* decision, void* positions,
                              unsigned index_bytes, std::uint64_t count) {
  SPANSORT_ASSERT(index_bytes == 4 || index_bytes == 8);
  const striding_policy policy = rearrange_policy_of(site.family()).sizes;
  const unsigned blocks = policy.num_blocks(count, site.num_multiprocessors);
  const auto launch = [&]<class Index>(Index* to) {
    write_ordered_positions_kernel<<<blocks, policy.threads, 0, site.stream>>>(decision, to, count);
  };
  if (index_bytes == 4) {
    launch(static_cast<std::uint32_t*>(positions));
  } else {
    launch(static_cast<std::uint64_t*>(positions));
  }
  check_done(cudaGetLastError(), "write_ordered_positions_kernel");
}

void launch_write_positions(const launch_site& site, void* positions, unsigned index_bytes, std::uint64_t count,
                            std::uint64_t first) {
  if (count == 0) return;
  SPANSORT_ASSERT(index_bytes == 4 || index_bytes == 8);
  const striding_policy policy = rearrange_policy_of(site.family()).sizes;
  const unsigned blocks = policy.num_blocks(count, site.num_multiprocessors);
  const auto launch = [&]<class Index>(Index* to) {
    write_positions_kernel<<<blocks, policy.threads, 0, site.stream>>>(to, count, first);
  };
  if (index_bytes == 4) {
    launch(static_cast<std::uint32_t*>(positions));
  } else {
    launch(static_cast<std::uint64_t*>(positions));
  }
  check_done(cudaGetLastError(), "write_positions_kernel");
}

}  // namespace spansort::device::cuda
