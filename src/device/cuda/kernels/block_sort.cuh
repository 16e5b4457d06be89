// SPDX-License-Identifier: Apache-2.0
// A sort by one block, in one launch.
#pragma once

#include "device/cuda/kernels/chip_sort.cuh"

namespace spansort::device::cuda {

/// One block; sizeof(shared_memory) bytes of dynamic shared memory. One read and one write of each record, and none
/// where they are in order already; the result may lie where they come from.
template <class K, class Order, bool KeepsPlaces, unsigned Threads, unsigned Items>
__global__ void __launch_bounds__(Threads, 1) block_sort_kernel(Order order, __grid_constant__ const chip_job<K> job) {
  using chip = chip_sort<K, Order, KeepsPlaces, Threads, Items>;
  extern __shared__ __align__(16) unsigned char shared_bytes[];
  if constexpr (compiles_small_sorts) {
    static_assert(sizeof(typename chip::shared_memory) <= most_shared_bytes(compiled_family));
    chip(order, job, *reinterpret_cast<typename chip::shared_memory*>(shared_bytes)).run();
  }
}

}  // namespace spansort::device::cuda
