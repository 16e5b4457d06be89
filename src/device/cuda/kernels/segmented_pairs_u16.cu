// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/kernels/segmented_launch-inl.cuh"

namespace spansort::device::cuda {
template void run_segmented_sort<std::uint16_t, true>(const launch_site&, const segment_arguments<std::uint16_t>&,
                                                      const segmented_request&);
}  // namespace spansort::device::cuda
