// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/cuda_error.hpp"
#include "device/cuda/kernels/request.hpp"

namespace spansort::device::cuda {
namespace {

/// Asked what it was compiled for: all kernels are compiled for the same architectures.
__global__ void asked_kernel() {}

}  // namespace

launch_site make_launch_site(cudaStream_t stream) {
  int ordinal = 0;
  int num_multiprocessors = 0;
  SPANSORT_CUDA(cudaGetDevice(&ordinal));
  SPANSORT_CUDA(cudaDeviceGetAttribute(&num_multiprocessors, cudaDevAttrMultiProcessorCount, ordinal));
  // A newer GPU may run intermediate code for an older one, and that has the older one's sizes.
  cudaFuncAttributes code{};
  SPANSORT_CUDA(cudaFuncGetAttributes(&code, asked_kernel));
  return {stream, static_cast<unsigned>(num_multiprocessors), code.ptxVersion < 80, nullptr, {}};
}

}  // namespace spansort::device::cuda
