// SPDX-License-Identifier: Apache-2.0
// A block looks at one segment: each thread loads some keys from anywhere in it and adds one to counters in shared
// memory. What was in a counter before is the number of earlier keys that a key pairs with. Keys are counted three
// times, by other bits each.
#include "device/cuda/kernels/segment_evenness.hpp"

#include "device/cuda/cuda_error.hpp"
#include "device/cuda/kernels/blocks_at_once.hpp"
#include "device/cuda/kernels/published_sorts.cuh"
#include "device/cuda/kernels/scrambled.cuh"

namespace spansort::device::cuda {
namespace {

using key = std::uint64_t;

constexpr unsigned looking_threads = 1024;
constexpr unsigned samples_each = looked_samples / looking_threads;
/// A counter has 16 bits, which hold the number of samples.
constexpr unsigned counter_words = 1U << (looked_counter_bits - 1);
static_assert(looked_samples < 1U << 16);

struct looked_counters {
  std::uint32_t words[counter_words];
  unsigned pairs;
};
static_assert(sizeof(looked_counters) <= most_shared_bytes(kernel_family::ampere));

/// Returns, to all threads alike, the number of pairs of the block's samples that have the same counter.
template <class CounterOf>
__device__ __forceinline__ unsigned count_pairs(looked_counters& counters, const CounterOf& counter_of) {
  __syncthreads();
  for (unsigned i = threadIdx.x; i < counter_words; i += looking_threads) counters.words[i] = 0;
  if (threadIdx.x == 0) counters.pairs = 0;
  __syncthreads();
  unsigned mine = 0;
#pragma unroll
  for (unsigned i = 0; i < samples_each; ++i) {
    const unsigned counter = counter_of(i);
    const unsigned half = counter % 2 * 16;
    mine += atomicAdd(&counters.words[counter / 2], 1U << half) >> half & 0xffffU;
  }
  mine = warp_sum(mine);
  if (threadIdx.x % 32 == 0) atomicAdd(&counters.pairs, mine);
  __syncthreads();
  return counters.pairs;
}

/// A block for each segment.
template <class Order>
__global__ void __launch_bounds__(looking_threads)
    segments_look_kernel(Order order, const key* __restrict__ keys, __grid_constant__ const segments_look look,
                         segments_mailbox* mailbox) {
  extern __shared__ __align__(16) unsigned char shared_bytes[];
  auto& counters = *reinterpret_cast<looked_counters*>(shared_bytes);
  const looked_segment& segment = look.segments[blockIdx.x];
  key sample[samples_each];
#pragma unroll
  for (unsigned i = 0; i < samples_each; ++i) {
    const std::uint64_t at = std::uint64_t{scrambled(i * looking_threads + threadIdx.x)} * segment.count >> 32;
    sample[i] = order.encode(order.take(keys[segment.begin + at]));
  }
  const auto highest = [&](unsigned i, unsigned num_bits) {
    const unsigned shift = segment.num_bits - num_bits;
    return static_cast<unsigned>(sample[i] >> shift) & ((1U << num_bits) - 1);
  };
  unsigned same_digit = 0;
  if (segment.digit_bits != 0) {
    same_digit = count_pairs(counters, [&](unsigned i) { return highest(i, segment.digit_bits); });
  }
  const unsigned bucket_bits = min(looked_counter_bits, segment.num_bits);
  const unsigned same_bucket = count_pairs(counters, [&](unsigned i) { return highest(i, bucket_bits); });
  const auto bits_of_number = static_cast<unsigned>(64 - __clzll(static_cast<long long>(segment.count - 1)));
  const unsigned bin_shift = segment.num_bits - min(segment.num_bits, bits_of_number);
  const unsigned same_bin = count_pairs(counters, [&](unsigned i) {
    return static_cast<unsigned>((sample[i] >> bin_shift) * 0x9e3779b97f4a7c15ULL >> (64 - looked_counter_bits));
  });
  if (threadIdx.x != 0) return;
  auto* const seen = reinterpret_cast<volatile std::uint32_t*>(&mailbox->seen[blockIdx.x]);
  *seen = static_cast<std::uint32_t>(
      evenness_of_segment(segment.count, segment.digit_bits, segment.most_finished, same_digit, same_bucket, same_bin));
}

}  // namespace

void launch_segments_look(const launch_site& site, const keys::codec_of<std::uint64_t>& codec, const void* keys,
                          const segments_look& look, segments_mailbox* mailbox) {
  with_plain_order<key>(codec, [&]<class Order>(const Order& order) {
    constexpr auto kernel = segments_look_kernel<Order>;
    grant_shared_memory<kernel>(sizeof(looked_counters));
    kernel<<<look.num_segments, looking_threads, sizeof(looked_counters), site.stream>>>(
        order, static_cast<const key*>(keys), look, mailbox);
  });
  check_done(cudaGetLastError(), "segments_look_kernel");
}

}  // namespace spansort::device::cuda
