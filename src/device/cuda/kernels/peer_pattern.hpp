// SPDX-License-Identifier: Apache-2.0
// A pattern to fill memory with and to find again.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace spansort::device::cuda {

/// words[i] = a number made of i and `seed`.
void launch_fill_pattern(cudaStream_t stream, std::uint64_t* words, std::uint64_t count, std::uint64_t seed);
/// Adds to `differences` the words that are not as filled.
void launch_compare_pattern(cudaStream_t stream, const std::uint64_t* words, std::uint64_t count, std::uint64_t seed,
                            unsigned long long* differences);

}  // namespace spansort::device::cuda
