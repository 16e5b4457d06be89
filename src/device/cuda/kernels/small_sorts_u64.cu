// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/kernels/small_sorts-inl.cuh"

namespace spansort::device::cuda {
SPANSORT_INSTANTIATE_SMALL_SORTS(std::uint64_t);
}  // namespace spansort::device::cuda
