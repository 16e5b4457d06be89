// SPDX-License-Identifier: Apache-2.0
#include "gpu/callers_kernels.hpp"

namespace spansort::test {
namespace {

__global__ void slow_fill_kernel(std::uint32_t* words, std::uint64_t count, std::uint32_t word, long long num_cycles) {
  const long long end = clock64() + num_cycles;
  while (clock64() < end) {
  }
  for (std::uint64_t i = threadIdx.x; i < count; i += blockDim.x) words[i] = word;
}

__global__ void illegal_write_kernel(std::uint32_t* nowhere) { *nowhere = 1; }

}  // namespace

void launch_slow_fill(std::uint32_t* words, std::uint64_t count, std::uint32_t word, long long num_cycles,
                      cudaStream_t stream) {
  slow_fill_kernel<<<1, 256, 0, stream>>>(words, count, word, num_cycles);
}

void launch_illegal_write() { illegal_write_kernel<<<1, 1>>>(reinterpret_cast<std::uint32_t*>(0x10)); }

}  // namespace spansort::test
