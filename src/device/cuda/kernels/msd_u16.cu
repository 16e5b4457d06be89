// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/kernels/msd_launch-inl.cuh"

namespace spansort::device::cuda {
template void launch_msd_levels<std::uint16_t>(const launch_site&, const msd_levels_request&);
}  // namespace spansort::device::cuda
