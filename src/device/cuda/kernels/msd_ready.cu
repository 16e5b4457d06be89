// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/cuda_error.hpp"
#include "device/cuda/kernels/msd_launch.hpp"
#include "device/cuda/kernels/msd_ready.cuh"

namespace spansort::device::cuda {
namespace {

constexpr unsigned ready_threads = 256;

/// Any number of blocks of ready_threads threads. Writes the states of all tiles, where there is a bucket.
__global__ void __launch_bounds__(ready_threads)
    msd_ready_kernel(__grid_constant__ const msd_memory memory, __grid_constant__ const msd_limits limits) {
  if (memory.control->num_buckets[0] != 0) make_listed_buckets_ready<ready_threads>(memory, limits);
}

}  // namespace

void launch_msd_ready(const launch_site& site, const msd_memory& memory, const msd_limits& limits) {
  msd_ready_kernel<<<4 * site.num_multiprocessors, ready_threads, 0, site.stream>>>(memory, limits);
  check_done(cudaGetLastError(), "msd_ready_kernel");
}

}  // namespace spansort::device::cuda
