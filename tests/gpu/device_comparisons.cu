// SPDX-License-Identifier: Apache-2.0
#include "gpu/device_comparisons.hpp"

#include "spansort/cuda/merge_sort.cuh"

namespace spansort::test {
namespace {

/// Comparisons of the device are function objects with a call operator for it.
struct compare_elements {
  device_order order;
  template <class T>
  __device__ bool operator()(const T& a, const T& b) const {
    switch (order) {
      case device_order::by_key: return a.key < b.key;
      case device_order::by_key_falling: return a.key > b.key;
      case device_order::or_equal: return a.key <= b.key;
      default: return ((a.key * 2654435761U + a.position * 40503U) ^ (b.key * 97U + b.position * 2246822519U)) % 3 == 0;
    }
  }
};

}  // namespace

void sort_on_device(small_element* elements, std::uint64_t count, device_order order, cudaStream_t stream) {
  cuda::sort(elements, count, compare_elements{order}, stream);
}
void sort_on_device(middle_element* elements, std::uint64_t count, device_order order, cudaStream_t stream) {
  cuda::sort(elements, count, compare_elements{order}, stream);
}
void sort_on_device(large_element* elements, std::uint64_t count, device_order order, cudaStream_t stream) {
  cuda::sort(elements, count, compare_elements{order}, stream);
}

void sort_by_graph(small_element* elements, std::uint64_t count, unsigned num_launches) {
  cudaStream_t stream = nullptr;
  void* workspace = nullptr;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t launchable = nullptr;
  cuda::detail::check(cudaStreamCreate(&stream), "cudaStreamCreate");
  cuda::detail::check(cudaMalloc(&workspace, cuda::merge_sort_workspace_bytes<small_element>(count)), "cudaMalloc");
  cuda::detail::check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "cudaStreamBeginCapture");
  cuda::sort_async(elements, count, compare_elements{device_order::by_key}, workspace, stream);
  cuda::detail::check(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
  cuda::detail::check(cudaGraphInstantiate(&launchable, graph, 0), "cudaGraphInstantiate");
  for (unsigned i = 0; i < num_launches; ++i)
    cuda::detail::check(cudaGraphLaunch(launchable, stream), "cudaGraphLaunch");
  cuda::detail::check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  cuda::detail::check(cudaGraphExecDestroy(launchable), "cudaGraphExecDestroy");
  cuda::detail::check(cudaGraphDestroy(graph), "cudaGraphDestroy");
  cuda::detail::check(cudaFree(workspace), "cudaFree");
  cuda::detail::check(cudaStreamDestroy(stream), "cudaStreamDestroy");
}

}  // namespace spansort::test
