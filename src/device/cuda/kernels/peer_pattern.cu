// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/kernels/peer_pattern.hpp"

#include "device/cuda/cuda_error.hpp"
#include "device/cuda/tuning/copy_policies.hpp"

namespace spansort::device::cuda {
namespace {

constexpr unsigned threads = peer_probe_tuning.sizes.threads;
constexpr unsigned blocks = peer_probe_tuning.sizes.blocks;

__device__ std::uint64_t pattern_at(std::uint64_t index, std::uint64_t seed) {
  const std::uint64_t z = (index + seed) * 0x9e3779b97f4a7c15U;
  return z ^ (z >> 31);
}

__global__ void fill_kernel(std::uint64_t* words, std::uint64_t count, std::uint64_t seed) {
  const std::uint64_t step = std::uint64_t{gridDim.x} * threads;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * threads + threadIdx.x; i < count; i += step) {
    words[i] = pattern_at(i, seed);
  }
}

__global__ void compare_kernel(const std::uint64_t* words, std::uint64_t count, std::uint64_t seed,
                               unsigned long long* differences) {
  const std::uint64_t step = std::uint64_t{gridDim.x} * threads;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * threads + threadIdx.x; i < count; i += step) {
    if (words[i] != pattern_at(i, seed)) atomicAdd(differences, 1ULL);
  }
}

}  // namespace

void launch_fill_pattern(cudaStream_t stream, std::uint64_t* words, std::uint64_t count, std::uint64_t seed) {
  fill_kernel<<<blocks, threads, 0, stream>>>(words, count, seed);
  check_done(cudaGetLastError(), "fill_kernel");
}

void launch_compare_pattern(cudaStream_t stream, const std::uint64_t* words, std::uint64_t count, std::uint64_t seed,
                            unsigned long long* differences) {
  compare_kernel<<<blocks, threads, 0, stream>>>(words, count, seed, differences);
  check_done(cudaGetLastError(), "compare_kernel");
}

}  // namespace spansort::device::cuda
