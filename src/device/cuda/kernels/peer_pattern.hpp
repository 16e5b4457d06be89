// SPDX-License-Identifier: Apache-2.0
// A pattern that memory is filled with and looked through for.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace spansort::device::cuda {

/// Fills words[i] with a number made of i and `seed`.
void launch_fill_pattern(cudaStream_t stream, std::uint64_t* words, std::uint64_t count, std::uint64_t seed);
/// Adds to `differences` the number of words that are not as launch_fill_pattern() left them.
void launch_compare_pattern(cudaStream_t stream, const std::uint64_t* words, std::uint64_t count, std::uint64_t seed,
                            unsigned long long* differences);

}  // namespace spansort::device::cuda
