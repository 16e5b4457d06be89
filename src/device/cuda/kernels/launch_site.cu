// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/cuda_error.hpp"
#include "device/cuda/kernels/request.hpp"

namespace spansort::device::cuda {
namespace {

/// compiled_for() asks this kernel, for all kernels are compiled for the same architectures.
__global__ void asked_kernel() {}

}  // namespace

compute_capability compiled_for() {
  cudaFuncAttributes code{};
  SPANSORT_CUDA(cudaFuncGetAttributes(&code, asked_kernel));
  const auto version = static_cast<unsigned>(code.ptxVersion);
  return {version / 10, version % 10};
}

launch_site make_launch_site(cudaStream_t stream) {
  int ordinal = 0;
  int num_multiprocessors = 0;
  SPANSORT_CUDA(cudaGetDevice(&ordinal));
  SPANSORT_CUDA(cudaDeviceGetAttribute(&num_multiprocessors, cudaDevAttrMultiProcessorCount, ordinal));
  return {.stream = stream, .num_multiprocessors = static_cast<unsigned>(num_multiprocessors), .code = compiled_for()};
}

}  // namespace spansort::device::cuda
