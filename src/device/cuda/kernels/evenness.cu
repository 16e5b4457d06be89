// SPDX-License-Identifier: Apache-2.0
// Each sampled key adds one to the counters of its bucket and its bin. What was in a counter before is the number of
// earlier keys that it pairs with, so no counter is read again. Threads of a warp whose keys share a counter add to it
// together, for otherwise keys that are all alike would take turns.
#include "device/cuda/kernels/evenness.hpp"

#include <bit>

#include "device/cuda/cuda_error.hpp"
#include "device/cuda/kernels/published_sorts.cuh"

namespace spansort::device::cuda {
namespace {

constexpr unsigned evenness_threads = 256;

/// Returns a number that looks like chance.
__device__ __forceinline__ std::uint32_t scrambled(std::uint32_t x) {
  x = (x ^ x >> 16) * 0x7feb352dU;
  x = (x ^ x >> 15) * 0x846ca68bU;
  return x ^ x >> 16;
}

/// Adds this thread's key to a counter, and the pairs that it makes to `pairs`. Called by whole warps.
__device__ __forceinline__ void count_pairs(std::uint32_t* counters, unsigned index, unsigned long long* pairs) {
  const unsigned alike = __match_any_sync(0xffffffffU, index);
  const unsigned lane = threadIdx.x % 32;
  unsigned mine = 0;
  if (static_cast<unsigned>(__ffs(static_cast<int>(alike))) == lane + 1) {
    const auto count = static_cast<unsigned>(__popc(alike));
    mine = count * atomicAdd(counters + index, count) + count * (count - 1) / 2;
  }
  const unsigned sum = warp_sum(mine);
  if (lane == 0 && sum != 0) atomicAdd(pairs, sum);
}

/// Tells the host what was seen. One thread, when all have added their pairs.
__device__ __forceinline__ void fill(evenness_mailbox* mailbox, order_action action, evenness_sums* sums) {
  mailbox->seen.same_bucket = atomicAdd(&sums->same_bucket, 0ULL);
  mailbox->seen.same_bin = atomicAdd(&sums->same_bin, 0ULL);
  mailbox->seen.decision = action;
  __threadfence_system();
  *static_cast<volatile unsigned*>(&mailbox->is_full) = 1;
}

/// A thread for each key of the sample, which has one from each of as many equal parts. No shared memory.
template <class Order>
__global__ void __launch_bounds__(evenness_threads)
    msd_evenness_kernel(Order order, const std::uint64_t* __restrict__ keys, std::uint64_t num_keys,
                        even_keys_sizes sizes, unsigned bin_shift, const order_action* __restrict__ decision,
                        evenness_memory memory, evenness_mailbox* mailbox) {
  const order_action action = decision == nullptr ? order_action::passes : *decision;
  const std::uint32_t number = blockIdx.x * evenness_threads + threadIdx.x;
  if (action == order_action::passes && number < sizes.samples) {
    const std::uint64_t begin = num_keys * number / sizes.samples;
    const std::uint64_t end = num_keys * (number + 1) / sizes.samples;
    const std::uint64_t key = order.encode(order.take(keys[begin + scrambled(number) % (end - begin)]));
    const auto bin = static_cast<unsigned>((key >> bin_shift) * 0x9e3779b97f4a7c15ULL >> (64 - sizes.bin_bits));
    count_pairs(memory.buckets, static_cast<unsigned>(key >> (64 - even_keys_bucket_bits)), &memory.sums->same_bucket);
    count_pairs(memory.bins, bin, &memory.sums->same_bin);
    __threadfence();
  }
  __syncthreads();
  if (threadIdx.x == 0 && atomicAdd(&memory.sums->num_done, 1U) + 1 == gridDim.x) fill(mailbox, action, memory.sums);
}

}  // namespace

void launch_evenness(const launch_site& site, const keys::codec_of<std::uint64_t>& codec, const void* keys,
                     std::uint64_t num_keys, const order_action* decision, const evenness_memory& memory,
                     evenness_mailbox* mailbox) {
  const even_keys_sizes sizes = even_keys_sizes_of(num_keys);
  const auto num_blocks = static_cast<unsigned>(base::ceil_div(sizes.samples, evenness_threads));
  const auto bin_shift = static_cast<unsigned>(64 - std::bit_width(num_keys - 1));
  SPANSORT_CUDA(cudaMemsetAsync(memory.sums, 0, evenness_memory::size_bytes(sizes), site.stream));
  with_plain_order<std::uint64_t>(codec, [&]<class Order>(const Order& order) {
    msd_evenness_kernel<Order><<<num_blocks, evenness_threads, 0, site.stream>>>(
        order, static_cast<const std::uint64_t*>(keys), num_keys, sizes, bin_shift, decision, memory, mailbox);
  });
  check_done(cudaGetLastError(), "msd_evenness_kernel");
}

}  // namespace spansort::device::cuda
