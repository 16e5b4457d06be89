// SPDX-License-Identifier: Apache-2.0
// A block looks at one segment: each thread loads some keys from anywhere in it. Keys are counted by their highest
// bits: each adds one to a counter in shared memory, and what was in it before is the number of earlier keys that it
// pairs with. Copies are told exactly: each key finds the counter of its kind in a hash table.
#include "device/cuda/kernels/segment_evenness.hpp"

#include "device/cuda/cuda_error.hpp"
#include "device/cuda/kernels/blocks_at_once.hpp"
#include "device/cuda/kernels/published_sorts.cuh"
#include "device/cuda/kernels/scrambled.cuh"
#include "device/cuda/tuning/even_keys_policy.hpp"

namespace spansort::device::cuda {
namespace {

constexpr unsigned looking_threads = 1024;
constexpr unsigned samples_each = looked_samples / looking_threads;
/// A counter has 16 bits, which hold the number of samples.
constexpr unsigned counter_words = 1U << (looked_counter_bits - 1);
static_assert(looked_samples < 1U << 16);

struct looked_counters {
  std::uint32_t words[counter_words];
  std::uint32_t copies[counter_words / 2];  ///< of the keys in as many places as there are words
  unsigned sum;
  unsigned largest;
};
static_assert(sizeof(looked_counters) <= most_shared_bytes(kernel_family::ampere));
static_assert(1U << looked_place_bits <= counter_words && 2 * looked_samples <= 1U << looked_place_bits);

/// Sets all words. All threads call it.
__device__ __forceinline__ void begin_count(looked_counters& counters, std::uint32_t word) {
  __syncthreads();
  for (unsigned i = threadIdx.x; i < counter_words; i += looking_threads) counters.words[i] = word;
  if (threadIdx.x == 0) counters.sum = counters.largest = 0;
  __syncthreads();
}

/// Returns, to all threads alike, the sum of what each has.
[[nodiscard]] __device__ __forceinline__ unsigned add_up(looked_counters& counters, unsigned mine) {
  mine = warp_sum(mine);
  if (threadIdx.x % 32 == 0) atomicAdd(&counters.sum, mine);
  __syncthreads();
  return counters.sum;
}

/// Returns the number of earlier samples that have the same counter of 16 bits, two of which are in a word, and counts
/// this one.
[[nodiscard]] __device__ __forceinline__ unsigned pair_up(std::uint32_t* words, unsigned counter) {
  const unsigned half = counter % 2 * 16;
  return atomicAdd(words + counter / 2, 1U << half) >> half & 0xffffU;
}

/// Returns, to all threads alike, the number of pairs of the block's samples that have the same counter. The counters
/// hold the samples' numbers afterwards.
template <class CounterOf>
[[nodiscard]] __device__ __forceinline__ unsigned count_pairs(looked_counters& counters, const CounterOf& counter_of) {
  begin_count(counters, 0);
  unsigned mine = 0;
#pragma unroll
  for (unsigned i = 0; i < samples_each; ++i) mine += pair_up(counters.words, counter_of(i));
  return add_up(counters, mine);
}

/// Returns, to all threads alike, the largest of so many counters, of which there are an even number.
[[nodiscard]] __device__ __forceinline__ unsigned largest_of(looked_counters& counters, unsigned num_counters) {
  for (unsigned i = threadIdx.x; i < num_counters / 2; i += looking_threads) {
    atomicMax(&counters.largest, max(counters.words[i] & 0xffffU, counters.words[i] >> 16));
  }
  __syncthreads();
  return counters.largest;
}

/// Returns, to all threads alike, the number of pairs of the block's samples that have the same number, which is less
/// than 2^32 - 1.
template <class NumberOf>
[[nodiscard]] __device__ __forceinline__ unsigned count_same(looked_counters& table, const NumberOf& number_of) {
  static_assert(most_bucket_sort_keys <= std::uint64_t{1} << 31);  // which as many bits number
  constexpr std::uint32_t nobody = ~std::uint32_t{0};
  constexpr unsigned num_places = 1U << looked_place_bits;
  begin_count(table, nobody);
  for (unsigned i = threadIdx.x; i < counter_words / 2; i += looking_threads) table.copies[i] = 0;
  __syncthreads();
  unsigned mine = 0;
#pragma unroll
  for (unsigned i = 0; i < samples_each; ++i) {
    const std::uint32_t number = number_of(i);
    unsigned place = number * 0x9e3779b9U >> (32 - looked_place_bits);
    while (true) {
      const std::uint32_t found = atomicCAS(&table.words[place], nobody, number);
      if (found == nobody || found == number) break;
      place = (place + 1) % num_places;
    }
    mine += pair_up(table.copies, place);
  }
  return add_up(table, mine);
}

/// A block for each segment.
template <class K, class Order>
__global__ void __launch_bounds__(looking_threads)
    segments_look_kernel(Order order, const K* __restrict__ keys, __grid_constant__ const segments_look look,
                         segments_mailbox* mailbox) {
  extern __shared__ __align__(16) unsigned char shared_bytes[];
  auto& counters = *reinterpret_cast<looked_counters*>(shared_bytes);
  const looked_segment& segment = look.segments[blockIdx.x];
  K sample[samples_each];
#pragma unroll
  for (unsigned i = 0; i < samples_each; ++i) {
    const std::uint64_t at = std::uint64_t{scrambled(i * looking_threads + threadIdx.x)} * segment.count >> 32;
    sample[i] = order.encode(order.take(keys[segment.begin + at]));
  }
  const auto highest = [&](unsigned i, unsigned num_bits) {
    return static_cast<unsigned>(sample[i] >> (segment.num_bits - num_bits)) & ((1U << num_bits) - 1);
  };
  sampled_likeness seen;
  if (segment.digit_bits != 0) {
    seen.same_digit = count_pairs(counters, [&](unsigned i) { return highest(i, segment.digit_bits); });
    seen.largest_digit = largest_of(counters, 1U << segment.digit_bits);
  }
  const unsigned bucket_bits = min(looked_counter_bits, segment.num_bits);
  seen.same_bucket = count_pairs(counters, [&](unsigned i) { return highest(i, bucket_bits); });
  const auto bits_of_number = static_cast<unsigned>(64 - __clzll(static_cast<long long>(segment.count - 1)));
  const unsigned number_bits = sizeof(K) == 4 ? segment.num_bits : min(segment.num_bits, bits_of_number);
  seen.same_key = count_same(counters, [&](unsigned i) { return highest(i, number_bits); });
  if (threadIdx.x != 0) return;
  segment_evenness answer = segment_evenness::uneven;
  if (segment.most_finished != 0) {
    answer = evenness_of_segment(segment.count, segment.digit_bits, segment.most_finished, seen);
  } else if (is_countable_segment(segment.count, seen)) {
    answer = segment_evenness::even_by_one_digit;
  }
  *reinterpret_cast<volatile std::uint32_t*>(&mailbox->seen[blockIdx.x]) = static_cast<std::uint32_t>(answer);
}

}  // namespace

template <class K>
void launch_segments_look(const launch_site& site, const keys::codec_of<K>& codec, const void* keys,
                          const segments_look& look, segments_mailbox* mailbox) {
  with_plain_order<K>(codec, [&]<class Order>(const Order& order) {
    constexpr auto kernel = segments_look_kernel<K, Order>;
    grant_shared_memory<kernel>(sizeof(looked_counters));
    kernel<<<look.num_segments, looking_threads, sizeof(looked_counters), site.stream>>>(
        order, static_cast<const K*>(keys), look, mailbox);
  });
  check_done(cudaGetLastError(), "segments_look_kernel");
}

template void launch_segments_look<std::uint32_t>(const launch_site&, const keys::codec_of<std::uint32_t>&, const void*,
                                                  const segments_look&, segments_mailbox*);
template void launch_segments_look<std::uint64_t>(const launch_site&, const keys::codec_of<std::uint64_t>&, const void*,
                                                  const segments_look&, segments_mailbox*);

}  // namespace spansort::device::cuda
