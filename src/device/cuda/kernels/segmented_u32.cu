// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/kernels/segmented_launch-inl.cuh"

namespace spansort::device::cuda {
template void launch_segmented_sort<std::uint32_t>(const launch_site&, const segmented_request&);
}  // namespace spansort::device::cuda
