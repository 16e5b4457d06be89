// SPDX-License-Identifier: Apache-2.0
// The tests of spansort/cuda/merge_sort.cuh share these elements and comparisons, and its calls, which nvcc alone
// compiles.
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace spansort::test {

/// An element of 8 to 256 bytes, whose position in the input says whether a sort is stable.
template <std::size_t num_words>
struct device_element {
  std::uint32_t key = 0;
  std::uint32_t position = 0;
  std::uint32_t payload[num_words]{};
  friend bool operator==(const device_element&, const device_element&) = default;
};
using small_element = device_element<1>;
using middle_element = device_element<4>;
using large_element = device_element<62>;

enum class device_order : std::uint8_t {
  by_key,
  by_key_falling,
  or_equal,  ///< says of equal elements that each comes before the other
  no_order,  ///< a hash of both
};

// These sort elements on the current GPU, by spansort::cuda::sort(). `elements` is device memory.

void sort_on_device(small_element* elements, std::uint64_t count, device_order order, cudaStream_t stream);
void sort_on_device(middle_element* elements, std::uint64_t count, device_order order, cudaStream_t stream);
void sort_on_device(large_element* elements, std::uint64_t count, device_order order, cudaStream_t stream);

/// Captures a sort by key into a graph, with a workspace of the test's, and launches that `num_launches` times.
void sort_by_graph(small_element* elements, std::uint64_t count, unsigned num_launches);

}  // namespace spansort::test
