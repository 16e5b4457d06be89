// SPDX-License-Identifier: Apache-2.0
// A sample has some 2^19 keys, so each kernel takes about as long as its launch. What counts is that the host is not
// asked in between.
#include "device/cuda/kernels/sample.hpp"

#include <algorithm>

#include "base/assert.hpp"
#include "base/math.hpp"
#include "device/cuda/cuda_error.hpp"
#include "device/cuda/kernels/key_order.cuh"
#include "device/cuda/tuning/striding_policies.hpp"

namespace spansort::device::cuda {
namespace {

constexpr unsigned compiled_threads = sample_policy_of(compiled_family).sizes.threads;

struct place_list {
  std::uint64_t place[rank_sampler::most_places] = {};
  unsigned count = 0;
};

place_list list_of(const bracket_request& request) {
  SPANSORT_ASSERT(request.places.size() <= rank_sampler::most_places);
  place_list list;
  for (const std::uint64_t place : request.places) list.place[list.count++] = place;
  return list;
}

template <class K>
constexpr unsigned run_keys = sample_run_bytes / sizeof(K);

/// One thread for each key of the sample; neighbouring threads read neighbouring keys. No shared memory.
template <class K>
__global__ void __launch_bounds__(compiled_threads)
    gather_sample_kernel(encoded_order<K> order, const K* __restrict__ keys, std::uint64_t part_keys,
                         std::uint64_t num_sampled, K* __restrict__ as_taken, K* __restrict__ to_sort) {
  const std::uint64_t i = std::uint64_t{blockIdx.x} * compiled_threads + threadIdx.x;
  if (i >= num_sampled) return;
  const std::uint64_t begin = sample_run_begin(i / run_keys<K>, part_keys, run_keys<K>);
  const K encoded = order.take(keys[begin + i % run_keys<K>]);
  as_taken[i] = encoded;
  to_sort[i] = encoded;
}

/// One thread for each run, one row of blocks for each place. Adds to `deviation`, which is zeroed before.
template <class K>
__global__ void __launch_bounds__(compiled_threads)
    deviation_kernel(const K* __restrict__ as_taken, const K* __restrict__ sorted, std::uint64_t num_runs,
                     __grid_constant__ const place_list places, unsigned long long* __restrict__ deviation) {
  __shared__ unsigned
      num_below[compiled_threads + 1];  // of each run; the first entry is the last run of the block before
  const K key = sorted[places.place[blockIdx.y]];
  const std::uint64_t first = std::uint64_t{blockIdx.x} * compiled_threads;
  const auto count_below = [&](std::uint64_t run) {
    unsigned count = 0;
#pragma unroll 8
    for (unsigned i = 0; i < run_keys<K>; ++i) count += as_taken[run * run_keys<K> + i] < key ? 1 : 0;
    return count;
  };
  const std::uint64_t run = first + threadIdx.x;
  if (run < num_runs) num_below[threadIdx.x + 1] = count_below(run);
  if (threadIdx.x == 0 && first != 0) num_below[0] = count_below(first - 1);
  __syncthreads();
  unsigned square = 0;
  if (run < num_runs && run != 0) {
    const int difference = static_cast<int>(num_below[threadIdx.x + 1]) - static_cast<int>(num_below[threadIdx.x]);
    square = static_cast<unsigned>(difference * difference);
  }
  const unsigned of_warp = warp_sum(square);
  if (threadIdx.x % 32 == 0 && of_warp != 0) atomicAdd(deviation + blockIdx.y, of_warp);
}

/// One block, with one thread for each place.
template <class K>
__global__ void pick_brackets_kernel(const K* __restrict__ sorted, std::uint64_t num_sampled,
                                     __grid_constant__ const place_list places,
                                     const unsigned long long* __restrict__ deviation,
                                     rank_bracket* __restrict__ brackets) {
  if (threadIdx.x >= places.count) return;
  rank_bracket b;
  b.place = places.place[threadIdx.x];
  b.reach = sample_reach(run_keys<K>, deviation[threadIdx.x]);
  if (b.has_low()) {
    b.far_below = sorted[b.place - b.reach - b.margin()];
    b.low = sorted[b.place - b.reach];
  }
  if (b.has_high(num_sampled)) {
    b.high = sorted[b.place + b.reach];
    b.far_above = sorted[b.place + b.reach + b.margin()];
  }
  brackets[threadIdx.x] = b;
}

}  // namespace

template <class K>
void launch_gather_sample(const launch_site& site, const keys::codec_of<K>& codec, const bracket_request& request,
                          const sample_memory<K>& sample) {
  const std::uint64_t num_sampled = request.num_runs * run_keys<K>;
  SPANSORT_ASSERT(num_sampled <= rank_sampler::most_sampled_keys && num_sampled <= request.num_keys);
  const unsigned threads = sample_policy_of(site.family()).sizes.threads;
  const auto blocks = static_cast<unsigned>(base::ceil_div(num_sampled, std::uint64_t{threads}));
  gather_sample_kernel<K><<<blocks, threads, 0, site.stream>>>(
      encoded_order<K>(codec), static_cast<const K*>(request.keys), request.num_keys / request.num_runs, num_sampled,
      sample.as_taken, sample.sorted);
  check_done(cudaGetLastError(), "gather_sample_kernel");
}

template <class K>
void launch_pick_brackets(const launch_site& site, const bracket_request& request, const sample_memory<K>& sample) {
  const place_list places = list_of(request);
  const unsigned threads = sample_policy_of(site.family()).sizes.threads;
  const dim3 blocks(static_cast<unsigned>(base::ceil_div(request.num_runs, std::uint64_t{threads})), places.count);
  SPANSORT_CUDA(cudaMemsetAsync(sample.deviation, 0, places.count * sizeof(*sample.deviation), site.stream));
  deviation_kernel<K>
      <<<blocks, threads, 0, site.stream>>>(sample.as_taken, sample.sorted, request.num_runs, places, sample.deviation);
  check_done(cudaGetLastError(), "deviation_kernel");
  pick_brackets_kernel<K><<<1, rank_sampler::most_places, 0, site.stream>>>(
      sample.sorted, request.num_runs * run_keys<K>, places, sample.deviation, sample.brackets);
  check_done(cudaGetLastError(), "pick_brackets_kernel");
}

#define SPANSORT_INSTANTIATE_SAMPLE_LAUNCHERS(K)                                                              \
  template void launch_gather_sample<K>(const launch_site&, const keys::codec_of<K>&, const bracket_request&, \
                                        const sample_memory<K>&);                                             \
  template void launch_pick_brackets<K>(const launch_site&, const bracket_request&, const sample_memory<K>&)

SPANSORT_INSTANTIATE_SAMPLE_LAUNCHERS(std::uint8_t);
SPANSORT_INSTANTIATE_SAMPLE_LAUNCHERS(std::uint16_t);
SPANSORT_INSTANTIATE_SAMPLE_LAUNCHERS(std::uint32_t);
SPANSORT_INSTANTIATE_SAMPLE_LAUNCHERS(std::uint64_t);

}  // namespace spansort::device::cuda
