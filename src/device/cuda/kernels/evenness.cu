// SPDX-License-Identifier: Apache-2.0
// Each sampled key adds one to the counters of its bucket and its bin.
#include "device/cuda/kernels/evenness.hpp"

#include "device/cuda/cuda_error.hpp"
#include "device/cuda/kernels/count_pairs.cuh"
#include "device/cuda/kernels/published_sorts.cuh"
#include "device/cuda/kernels/scrambled.cuh"

namespace spansort::device::cuda {
namespace {

constexpr unsigned evenness_threads = 256;

/// Tells the host or the device what was seen. One thread, when all have added their pairs.
__device__ __forceinline__ void give(const evenness_answer& answer, std::uint64_t num_keys, order_action action,
                                     evenness_sums* sums) {
  const key_evenness seen{atomicAdd(&sums->same_bucket, 0ULL), atomicAdd(&sums->same_bin, 0ULL),
                          atomicAdd(&sums->coarse_same_key, 0ULL), action};
  if (answer.ways != nullptr) {
    const bool takes_other = are_even_for(answer.purpose, num_keys, seen);
    answer.ways[0] = action != order_action::passes || !takes_other ? action : order_action::counts;
    answer.ways[1] = action != order_action::passes || takes_other ? action : order_action::counts;
    return;
  }
  answer.mailbox->seen = seen;
  __threadfence_system();
  *static_cast<volatile unsigned*>(&answer.mailbox->is_full) = 1;
}

/// Keeps the key for a second look, with the range of all and the pairs that are alike. Called by whole warps.
template <class K>
__device__ __forceinline__ void keep(K key, unsigned number, const evenness_memory& memory) {
  memory.sample[number] = key;
  count_pairs(memory.keys_or_spread_buckets, bin_of(key, even_keys_bucket_bits), &memory.sums->coarse_same_key);
  unsigned long long most = key;
  unsigned long long most_inverted = ~most;
#pragma unroll
  for (unsigned distance = 16; distance != 0; distance /= 2) {
    most = max(most, __shfl_xor_sync(0xffffffffU, most, distance));
    most_inverted = max(most_inverted, __shfl_xor_sync(0xffffffffU, most_inverted, distance));
  }
  if (threadIdx.x % 32 != 0) return;
  atomicMax(&memory.sums->most, most);
  atomicMax(&memory.sums->most_inverted, most_inverted);
}

/// A thread for each key of the sample, which has one from each of as many equal parts. No shared memory.
template <class K, class Order>
__global__ void __launch_bounds__(evenness_threads)
    msd_evenness_kernel(Order order, const K* __restrict__ keys, std::uint64_t num_keys, even_keys_sizes sizes,
                        unsigned bin_shift, const order_action* __restrict__ decision, evenness_memory memory,
                        evenness_answer answer) {
  const order_action action = decision == nullptr ? order_action::passes : *decision;
  const std::uint32_t number = blockIdx.x * evenness_threads + threadIdx.x;
  if (action == order_action::passes && number < sizes.samples) {
    const std::uint64_t begin = num_keys * number / sizes.samples;
    const std::uint64_t end = num_keys * (number + 1) / sizes.samples;
    const K key = order.encode(order.take(keys[begin + scrambled(number) % (end - begin)]));
    const std::uint64_t bin_bits = key >> bin_shift;
    if constexpr (sizeof(K) == 8) keep(key, number, memory);
    const auto bucket = static_cast<unsigned>(key >> (8 * sizeof(K) - even_keys_bucket_bits));
    count_pairs(memory.buckets, bucket, &memory.sums->same_bucket);
    count_pairs(memory.bins, bin_of(bin_bits, sizes.bin_bits), &memory.sums->same_bin);
    __threadfence();
  }
  __syncthreads();
  if (threadIdx.x == 0 && atomicAdd(&memory.sums->num_done, 1U) + 1 == gridDim.x) {
    give(answer, num_keys, action, memory.sums);
  }
}

}  // namespace

template <class K>
void launch_evenness(const launch_site& site, const keys::codec_of<K>& codec, const void* keys, std::uint64_t num_keys,
                     const even_keys_sizes& sizes, unsigned bin_shift, const order_action* decision,
                     const evenness_memory& memory, const evenness_answer& answer) {
  const auto num_blocks = static_cast<unsigned>(base::ceil_div(sizes.samples, evenness_threads));
  SPANSORT_CUDA(cudaMemsetAsync(memory.sums, 0, evenness_memory::first_bytes(sizes, sizeof(K)), site.stream));
  with_plain_order<K>(codec, [&]<class Order>(const Order& order) {
    msd_evenness_kernel<K, Order><<<num_blocks, evenness_threads, 0, site.stream>>>(
        order, static_cast<const K*>(keys), num_keys, sizes, bin_shift, decision, memory, answer);
  });
  check_done(cudaGetLastError(), "msd_evenness_kernel");
}

template void launch_evenness<std::uint32_t>(const launch_site&, const keys::codec_of<std::uint32_t>&, const void*,
                                             std::uint64_t, const even_keys_sizes&, unsigned, const order_action*,
                                             const evenness_memory&, const evenness_answer&);
template void launch_evenness<std::uint64_t>(const launch_site&, const keys::codec_of<std::uint64_t>&, const void*,
                                             std::uint64_t, const even_keys_sizes&, unsigned, const order_action*,
                                             const evenness_memory&, const evenness_answer&);

}  // namespace spansort::device::cuda
