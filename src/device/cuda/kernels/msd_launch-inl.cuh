// SPDX-License-Identifier: Apache-2.0
// Bodies of what msd_launch.hpp declares. Only msd_u8.cu ... msd_u64.cu include this.
#pragma once

#include <algorithm>

#include "base/assert.hpp"
#include "base/math.hpp"
#include "device/cuda/cuda_error.hpp"
#include "device/cuda/kernels/blocks_at_once.hpp"
#include "device/cuda/kernels/msd_all_levels.cuh"
#include "device/cuda/kernels/msd_finish.cuh"
#include "device/cuda/kernels/msd_launch.hpp"
#include "device/cuda/kernels/msd_one_block.cuh"
#include "device/cuda/kernels/msd_partition.cuh"
#include "device/cuda/kernels/spread_order.cuh"

namespace spansort::device::cuda {
namespace {

/// Launches a kernel whose blocks stay and share what there is to do.
template <auto Kernel, class... Arguments>
void launch_staying(const launch_site& site, const char* name, unsigned blocks, unsigned threads, unsigned shared_bytes,
                    const Arguments&... arguments) {
  grant_shared_memory<Kernel>(shared_bytes);
  Kernel<<<blocks, threads, shared_bytes, site.stream>>>(arguments...);
  check_done(cudaGetLastError(), name);
}

/// No level has more tiles than this, nor more large buckets.
struct most_of_level {
  std::uint64_t buckets = 0;
  std::uint64_t tiles = 0;

  most_of_level(std::uint64_t num_keys, const msd_limits& limits) noexcept
      : buckets(num_keys / limits.most_finished() + 1), tiles(num_keys / limits.tile_keys + buckets) {}
};

template <class K, class V>
void launch_plan(const launch_site& site, const msd_arguments<K, V>& a, const msd_level& level,
                 const most_of_level& most) {
  const std::uint64_t blocks = std::min(most.buckets, std::uint64_t{site.num_multiprocessors} * 8);
  msd_plan_kernel<K, V><<<static_cast<unsigned>(blocks), max_partition_buckets, 0, site.stream>>>(a, level);
  check_done(cudaGetLastError(), "msd_plan_kernel");
}

template <class K, class V, class Order>
void launch_level(const launch_site& site, const Order& order, const msd_arguments<K, V>& a, const msd_level& level,
                  const most_of_level& most) {
  constexpr msd_partition_policy policy = msd_partition_policy_of(sizeof(K), value_bytes_of<V>).sizes;
  using block = msd_partition_block<K, V, Order>;
  const auto blocks_of = [&](std::uint64_t all, unsigned each) {
    return static_cast<unsigned>(std::min<std::uint64_t>(all, std::uint64_t{site.num_multiprocessors} * each));
  };
  msd_histogram_kernel<K, V, Order>
      <<<blocks_of(most.tiles, policy.histogram_blocks_each), policy.threads, 0, site.stream>>>(order, a, level);
  check_done(cudaGetLastError(), "msd_histogram_kernel");
  launch_plan<K, V>(site, a, level, most);
  launch_staying<msd_partition_kernel<K, V, Order>>(site, "msd_partition_kernel",
                                                    blocks_of(most.tiles, policy.blocks_each), policy.threads,
                                                    sizeof(typename block::shared_memory), order, a, level);
}

/// Launches all levels of `num_bits` at once. Returns false where blocks cannot meet, and has done nothing then.
template <class K, class V, class Order>
[[nodiscard]] bool launch_all_levels(const launch_site& site, const Order& order, const msd_arguments<K, V>& a,
                                     const most_of_level& most, unsigned first_level, unsigned num_bits,
                                     bool are_ready) {
  using block = msd_all_levels_block<K, V, Order>;
  constexpr auto kernel = msd_all_levels_kernel<K, V, Order>;
  constexpr unsigned shared_bytes = sizeof(typename block::shared_memory);
  const unsigned at_once = blocks_at_once<kernel>(block::threads, shared_bytes);
  if (at_once == 0) return false;
  const auto blocks = static_cast<unsigned>(std::min<std::uint64_t>(at_once, most.tiles));
  Order of_kernel = order;
  msd_arguments<K, V> given = a;
  void* arguments[] = {&of_kernel, &given, &first_level, &num_bits, &are_ready};
  cudaError_t status = cudaSuccess;
  const auto launch = [&] {
    status =
        cudaLaunchCooperativeKernel(kernel, dim3(blocks), dim3(block::threads), arguments, shared_bytes, site.stream);
    return status == cudaErrorCooperativeLaunchTooLarge ? cudaSuccess : status;
  };
  run_checked(launch, "cudaLaunchCooperativeKernel");
  // A stream may have fewer multiprocessors than its GPU.
  if (status == cudaSuccess) return true;
  forget_failure(status);
  return false;
}

/// Launches all levels that so many bits can take.
template <class K, class V, class Order>
void launch_levels(const launch_site& site, const Order& order, const msd_arguments<K, V>& a, std::uint64_t num_keys,
                   unsigned num_bits, bool are_ready) {
  const most_of_level most(num_keys, a.limits);
  const bool are_few = num_keys <= most_keys_of_one_launch;
  if (are_few && launch_all_levels<K, V>(site, order, a, most, 0, num_bits, are_ready)) return;
  if (!are_ready) launch_msd_ready(site, a.memory, a.limits);
  msd_level level = msd_level::of(0, num_bits);
  launch_level<K, V>(site, order, a, level, most);
  while (!level.is_last()) {
    level = level.next();
    launch_level<K, V>(site, order, a, level, most);
  }
}

/// Launches what comes before the finish of records that are in order by their high bits.
template <class K, class V, class Order>
void launch_levels_in_order(const launch_site& site, const Order& order, const msd_arguments<K, V>& a,
                            const msd_request& request) {
  const msd_beginning& beginning = request.beginning;
  SPANSORT_ASSERT(beginning.num_bits >= max_partition_bits && beginning.num_bits < request.num_bits);
  most_of_level most(request.num_keys, a.limits);
  most.buckets = std::max(most.buckets, beginning.num_buckets());
  msd_level level = msd_level::of(1, request.num_bits - beginning.num_bits + max_partition_bits);
  level.is_in_order = true;
  with_spread<K>(order, request.spread, [&]<class Beginning>(const Beginning& in_order) {
    msd_begin_in_order_kernel<K, V, Beginning>
        <<<static_cast<unsigned>(beginning.num_buckets()), max_partition_buckets + 32, 0, site.stream>>>(
            in_order, a, request.num_keys, level.shift, request.decision);
  });
  check_done(cudaGetLastError(), "msd_begin_in_order_kernel");
  launch_plan<K, V>(site, a, level, most);
  const bool has_spread = request.spread.table != nullptr;
  // Keys of a spread's bucket may differ in any bit.
  if (has_spread) level.shift = request.num_bits;
  SPANSORT_ASSERT(level.number + base::ceil_div(level.shift, max_partition_bits) < max_msd_levels);
  if (beginning.large == large_buckets::by_one_block_each) {
    const std::uint64_t blocks = std::min(most.buckets, std::uint64_t{site.num_multiprocessors});
    msd_one_block_kernel<K, V, Order><<<static_cast<unsigned>(blocks), msd_one_block_threads, 0, site.stream>>>(
        order, a, level.number + 1, level.shift);
    check_done(cudaGetLastError(), "msd_one_block_kernel");
    return;
  }
  // A spread's large buckets, of which a sample has found few, may take all eight levels, and plain ones six: in one
  // launch the former save 24. Where the device decides, the sort is one that others may have to run beside, so that no
  // blocks have to meet.
  const bool may_meet = has_spread && request.decision == nullptr;
  if (may_meet && launch_all_levels<K, V>(site, order, a, most, level.number + 1, level.shift, true)) return;
  while (!level.is_last()) {
    level = level.next();
    launch_level<K, V>(site, order, a, level, most);
  }
}

template <unsigned Size, class K, class V, class Order>
void launch_finish(const launch_site& site, const Order& order, const msd_arguments<K, V>& a, std::uint64_t num_keys) {
  constexpr unsigned threads = finish_threads[Size];
  using block = msd_finish_block<K, V, Order, threads>;
  // The largest input without a job of this size, and the smallest with several.
  if (num_keys <= a.limits.most_finished() && Size != 0 && num_keys <= a.limits.finish_keys[Size == 0 ? 0 : Size - 1]) {
    return;
  }
  const unsigned all = site.num_multiprocessors * finish_blocks_each(threads);
  const auto blocks = num_keys <= a.limits.most_finished() ? 1 : all;
  launch_staying<msd_finish_kernel<K, V, Order, threads>>(site, "msd_finish_kernel", blocks, threads,
                                                          sizeof(typename block::shared_memory), order, a, Size);
}

template <class K, class V, class Order>
void run_msd_hybrid(const launch_site& site, const Order& order, const msd_request& request) {
  constexpr bool keeps_places = value_bytes_of<V> != 0 || !Order::holds_encoded;
  msd_arguments<K, V> a;
  a.sides[0] = typed<K, V>(request.sides[0]);
  a.sides[1] = typed<K, V>(request.sides[1]);
  a.limits = msd_limits_of(sizeof(K), value_bytes_of<V>, keeps_places);
  a.memory = msd_memory::in(request.memory, request.num_keys, a.limits, 0, request.beginning);
  a.result_side = request.result_side;
  const bool begins_in_order = request.beginning.num_bits != 0;
  const bool is_one_job = !begins_in_order && request.num_keys <= a.limits.most_finished();
  const std::uint64_t zeroed_bytes = is_one_job ? sizeof(msd_control) : a.memory.zeroed_bytes;
  SPANSORT_CUDA(cudaMemsetAsync(request.memory, 0, zeroed_bytes, site.stream));
  if (begins_in_order) {
    launch_levels_in_order<K, V>(site, order, a, request);
  } else {
    msd_begin_kernel<K, V><<<1, max_partition_buckets, 0, site.stream>>>(a, request.num_keys);
    check_done(cudaGetLastError(), "msd_begin_kernel");
  }
  if (!is_one_job && !begins_in_order) launch_levels<K, V>(site, order, a, request.num_keys, request.num_bits, true);
  launch_finish<0, K, V>(site, order, a, request.num_keys);
  launch_finish<1, K, V>(site, order, a, request.num_keys);
  launch_finish<2, K, V>(site, order, a, request.num_keys);
}

}  // namespace

template <class K>
void launch_msd_levels(const launch_site& site, const msd_levels_request& request) {
  SPANSORT_ASSERT(has_msd_hybrid(site.family()));
  with_value(request.shape.value_bytes, [&]<class V>() {
    with_plain_order<K>(request.shape.codec.template of<K>(), [&]<class Order>(const Order& order) {
      msd_arguments<K, V> a;
      a.sides[0] = typed<K, V>(request.sides[0]);
      a.sides[1] = typed<K, V>(request.sides[1]);
      a.limits = request.limits;
      a.memory = request.memory;
      launch_levels<K, V>(site, order, a, request.num_keys, request.shape.codec.key_bits(), request.are_ready);
    });
  });
}

template <class K>
void launch_msd_hybrid(const launch_site& site, const msd_request& request) {
  SPANSORT_ASSERT(has_msd_hybrid(site.family()));
  with_value(request.shape.value_bytes, [&]<class V>() {
    with_order<K>(
        request.shape.codec.template of<K>(),
        [&]<class Order>(const Order& order) {
          // Ties are folded only where values travel.
          if constexpr (Order::holds_encoded || value_bytes_of<V> != 0) {
            run_msd_hybrid<K, V, Order>(site, order, request);
          } else {
            SPANSORT_ASSERT(false);
          }
        },
        request.any_folded);
  });
}

}  // namespace spansort::device::cuda
