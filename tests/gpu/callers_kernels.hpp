// SPDX-License-Identifier: Apache-2.0
// Kernels of a caller who has work of his own on the GPU.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace spansort::test {

/// Fills `count` words after at least `num_cycles` of the GPU's clock.
void launch_slow_fill(std::uint32_t* words, std::uint64_t count, std::uint32_t word, long long num_cycles,
                      cudaStream_t stream);

/// Writes where there is no memory: this process can use its GPUs no longer.
void launch_illegal_write();

}  // namespace spansort::test
