// SPDX-License-Identifier: Apache-2.0
// All levels of the MSD hybrid sort in one launch, by blocks that all run at once and meet between the steps of a
// level. Few records take less time than the launches of the steps would, most of which have nothing to do: what
// decides how many levels there are is known on the device alone.
#pragma once

#include <cooperative_groups.h>

#include "device/cuda/kernels/msd_partition.cuh"
#include "device/cuda/kernels/msd_ready.cuh"

namespace spansort::device::cuda {

/// The work of one block of policy.threads threads.
template <class K, class V, class Order>
class msd_all_levels_block {
 public:
  using histogram = msd_histogram_block<K, V, Order>;
  using partition = msd_partition_block<K, V, Order>;
  using plan = msd_plan_block<K, V, partition::threads>;
  static constexpr unsigned threads = partition::threads;

  /// The steps follow each other, and use the same memory.
  union shared_memory {
    std::uint32_t counters[max_partition_buckets];
    typename plan::shared_memory of_plan;
    typename partition::shared_memory of_partition;
  };

  __device__ __forceinline__ msd_all_levels_block(const Order& order, const msd_arguments<K, V>& arguments,
                                                  shared_memory& shared)
      : order_(order), a_(arguments), shared_(shared) {}

  /// Makes the buckets that are listed for the first level ready.
  __device__ __forceinline__ void begin() const {
    if (a_.memory.control->num_buckets[0] == 0) return;
    make_listed_buckets_ready<threads>(a_.memory, a_.limits);
    grid_.sync();
  }

  __device__ __forceinline__ void run(unsigned first_level, unsigned num_bits) const {
    for (msd_level level = msd_level::of(first_level, num_bits); a_.num_tiles(level) != 0; level = level.next()) {
      histogram(order_, a_, level, shared_.counters).run();
      grid_.sync();
      const std::uint32_t num_buckets = a_.memory.control->num_buckets[level.number];
      for (std::uint32_t b = blockIdx.x; b < num_buckets; b += gridDim.x) plan(a_, level, shared_.of_plan).run(b);
      grid_.sync();
      partition(order_, a_, level, shared_.of_partition).run();
      if (level.is_last() || a_.num_tiles(level.next()) == 0) return;
      grid_.sync();
    }
  }

 private:
  const Order& order_;
  const msd_arguments<K, V>& a_;
  shared_memory& shared_;
  const cooperative_groups::grid_group grid_ = cooperative_groups::this_grid();
};

/// Sorts the records of large buckets of the first level by all digits of `num_bits` that split them. At most as many
/// blocks as run at once, of policy.threads threads; sizeof(shared_memory) bytes of dynamic shared memory. A read of
/// the keys, then a read and a write of each record of large buckets for each level.
template <class K, class V, class Order>
__global__ void __launch_bounds__(msd_partition_block<K, V, Order>::threads,
                                  msd_partition_block<K, V, Order>::policy.blocks_each)
    msd_all_levels_kernel(Order order, __grid_constant__ const msd_arguments<K, V> a, unsigned first_level,
                          unsigned num_bits, bool are_ready) {
  using block = msd_all_levels_block<K, V, Order>;
  extern __shared__ __align__(16) unsigned char shared_bytes[];
  if constexpr (compiles_msd_hybrid) {
    const block mine(order, a, *reinterpret_cast<typename block::shared_memory*>(shared_bytes));
    if (!are_ready) mine.begin();
    mine.run(first_level, num_bits);
  }
}

}  // namespace spansort::device::cuda
