// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/kernels/launch-inl.cuh"

namespace spansort::device::cuda {
SPANSORT_INSTANTIATE_CUDA_LAUNCHERS(std::uint16_t);
}  // namespace spansort::device::cuda
