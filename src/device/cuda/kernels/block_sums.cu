// SPDX-License-Identifier: Apache-2.0
// A thread takes one lane of one block and adds its keys in order, as device/block_sums.hpp defines it: the bits must
// be those that the host gets, which a reduction by tree (CUB's) would not give. Neighbouring threads read neighbouring
// keys.
#include "device/cuda/kernels/block_sums.hpp"

#include <algorithm>

#include "base/math.hpp"
#include "device/cuda/cuda_error.hpp"
#include "device/cuda/tuning/striding_policies.hpp"
#include "keys/dispatch.hpp"

namespace spansort::device::cuda {
namespace {

constexpr unsigned compiled_threads = block_sums_policy_of(compiled_family).sizes.threads;
static_assert(compiled_threads % sum_lanes == 0);

/// One read of the keys. The shared memory holds the sum of each thread's lane.
template <class T>
__global__ void __launch_bounds__(compiled_threads)
    block_sums_kernel(const T* __restrict__ keys, std::uint64_t num_keys, block_sum* __restrict__ sums) {
  // The memory is declared as bytes because shared memory takes no type that initialises itself.
  alignas(lane_sum<T>) __shared__ unsigned char lane_memory[compiled_threads * sizeof(lane_sum<T>)];
  auto* const lanes = reinterpret_cast<lane_sum<T>*>(lane_memory);
  const std::uint64_t block = std::uint64_t{blockIdx.x} * (compiled_threads / sum_lanes) + threadIdx.x / sum_lanes;
  const std::uint64_t begin = block * sum_block_keys;
  const unsigned lane = threadIdx.x % sum_lanes;
  const std::uint64_t rest = begin < num_keys ? num_keys - begin : 0;
  const auto count = static_cast<unsigned>(rest < sum_block_keys ? rest : sum_block_keys);
  lane_sum<T> sum;
#pragma unroll 8
  for (unsigned i = lane; i < count; i += sum_lanes) sum.add(keys[begin + i]);
  lanes[threadIdx.x] = sum;
  __syncthreads();
  if (lane != 0 || count == 0) return;
  block_sum all;
  for (unsigned l = 0; l < sum_lanes; ++l) lanes[threadIdx.x + l].add_to(all);
  sums[block] = all;
}

}  // namespace

void launch_block_sums(const launch_site& site, key_type type, const void* keys, std::uint64_t num_keys,
                       block_sum* sums) {
  if (num_keys == 0) return;
  const unsigned threads = block_sums_policy_of(site.family()).sizes.threads;
  const std::uint64_t num_blocks = base::ceil_div(num_keys, sum_block_keys);
  const auto grid = static_cast<unsigned>(base::ceil_div(num_blocks, std::uint64_t{threads / sum_lanes}));
  keys::with_type(type, [&]<class T>() {
    block_sums_kernel<T><<<grid, threads, 0, site.stream>>>(static_cast<const T*>(keys), num_keys, sums);
  });
  check_done(cudaGetLastError(), "block_sums_kernel");
}

}  // namespace spansort::device::cuda
