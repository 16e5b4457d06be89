// SPDX-License-Identifier: Apache-2.0
// Quartiles cut the keys by six splitters, around three narrow intervals whose keys are collected. A key is compared
// with these from registers and constants, not by a search in shared memory, so that the kernel is bound by its read:
// it takes some 9 integer operations for a key of 4 bytes and 17 for one of 8, where an H100 has time for 20 and 40.
// Only lower bounds are counted key by key. How many keys lie in a marked interval is counted when they are collected,
// for they are few.
#include "device/cuda/kernels/few_intervals.hpp"

#include <algorithm>
#include <bit>

#include "base/assert.hpp"
#include "base/math.hpp"
#include "device/cuda/cuda_error.hpp"
#include "device/cuda/kernels/bound_arithmetic.cuh"
#include "device/cuda/kernels/key_order.cuh"

namespace spansort::device::cuda {
namespace {

constexpr few_intervals_policy compiled_policy = few_intervals_policy_of(compiled_family).sizes;
constexpr unsigned threads = compiled_policy.threads;
constexpr unsigned all_lanes = 0xffffffffU;

template <class K>
struct few_arguments {
  const K* keys = nullptr;  ///< aligned as keys are
  std::uint64_t num_keys = 0;
  unsigned num_lead = 0;          ///< keys before the first whole vector
  std::uint64_t num_vectors = 0;  ///< whole vectors, of 16 bytes
  unsigned num_marked = 0;
  // The marked intervals; entries past num_marked repeat the last one.
  K low[most_few_intervals] = {};  ///< encoded, none is 0
  interval_bounds<K> bounds;
  unsigned interval[most_few_intervals] = {};  ///< its number among all intervals
  unsigned num_intervals = 0;
  std::uint64_t marked = 0;
  K* collected = nullptr;
  std::uint64_t capacity = 0;
  unsigned long long* counts = nullptr;         ///< device memory, zeroed before: num_intervals
  unsigned long long* num_collected = nullptr;  ///< device memory, zeroed before: one count
};

/// One warp's work. A lane takes `vectors` vectors of 16 bytes at a time, which lie 32 vectors apart.
template <class K, class Order>
class few_intervals_warp {
 public:
  static constexpr unsigned vector_keys = 16 / sizeof(K);
  static constexpr unsigned vectors = compiled_policy.vectors;
  static constexpr unsigned step_vectors = 32 * vectors;
  /// Keys that a warp holds before it writes them out. Each append adds at most one key a lane.
  static constexpr unsigned held_keys = compiled_policy.held_bytes / sizeof(K);

  __device__ __forceinline__ few_intervals_warp(const Order& order, const few_arguments<K>& arguments, K* held,
                                                unsigned* within)
      : order_(order), a_(arguments), held_(held), within_(within), lane_(threadIdx.x % 32) {}

  __device__ __forceinline__ void run() {
    const std::uint64_t warp = std::uint64_t{blockIdx.x} * (threads / 32) + threadIdx.x / 32;
    const std::uint64_t stride = std::uint64_t{gridDim.x} * (threads / 32) * step_vectors;
    std::uint64_t begin = warp * step_vectors;
    for (; begin + step_vectors <= a_.num_vectors; begin += stride) take_step<true>(begin);
    if (begin < a_.num_vectors) take_step<false>(begin);
    if (warp == 0) take_ends();
    flush();
  }

  /// The number of this lane's keys that reach each interval's lower bound.
  unsigned from_low[most_few_intervals] = {};

 private:
  union vector {
    uint4 words;
    K keys[vector_keys];
    __device__ __forceinline__ vector() : words{} {}
  };

  template <bool IsWhole>
  __device__ __forceinline__ void take_step(std::uint64_t begin) {
    const K* const first = a_.keys + a_.num_lead;
    vector v[vectors];
#pragma unroll
    for (unsigned i = 0; i < vectors; ++i) {
      const std::uint64_t at = begin + i * 32 + lane_;
      if (IsWhole || at < a_.num_vectors) v[i].words = load_early(reinterpret_cast<const uint4*>(first) + at);
    }
    unsigned wanted = 0;
#pragma unroll
    for (unsigned i = 0; i < vectors; ++i) {
      if (!IsWhole && begin + i * 32 + lane_ >= a_.num_vectors) continue;
#pragma unroll
      for (unsigned j = 0; j < vector_keys; ++j) {
        look_at(encoded_of(v[i].keys[j]), a_.bounds, from_low, wanted, 1U << (i * vector_keys + j));
      }
    }
    // Few lanes have wanted keys, so these are read again, from the cache: registers cannot be indexed.
    while (__any_sync(all_lanes, wanted != 0)) {
      const bool has_one = wanted != 0;
      const auto bit = static_cast<unsigned>(__ffs(static_cast<int>(wanted)) - 1);
      K key{};
      if (has_one) key = first[(begin + bit / vector_keys * 32 + lane_) * vector_keys + bit % vector_keys];
      append(has_one, key);
      wanted &= wanted - 1;
    }
  }

  /// Takes the keys before the first and after the last whole vector, one a lane.
  __device__ __forceinline__ void take_ends() {
    const std::uint64_t in_vectors = a_.num_vectors * vector_keys;
    const bool has_one = lane_ < a_.num_keys - in_vectors;
    K key{};
    if (has_one) key = a_.keys[lane_ < a_.num_lead ? lane_ : in_vectors + lane_];
    unsigned wanted = 0;
    if (has_one) look_at(encoded_of(key), a_.bounds, from_low, wanted, 1);
    append(wanted != 0, key);
  }

  [[nodiscard]] __device__ __forceinline__ K encoded_of(K key) const { return order_.encode(order_.take(key)); }

  /// Holds the keys of those lanes that have one. The whole warp calls it.
  __device__ __forceinline__ void append(bool has_one, K key) {
    if (num_held_ + 32 > held_keys) flush();
    const unsigned mask = __ballot_sync(all_lanes, has_one);
    if (has_one) held_[num_held_ + static_cast<unsigned>(__popc(mask & ((1U << lane_) - 1)))] = key;
    num_held_ += static_cast<unsigned>(__popc(mask));
  }

  /// Counts the held keys by interval and writes them out.
  __device__ __forceinline__ void flush() {
    if (num_held_ == 0) return;
    __syncwarp();
    unsigned long long begin = 0;
    if (lane_ == 0) begin = atomicAdd(a_.num_collected, static_cast<unsigned long long>(num_held_));
    begin = __shfl_sync(all_lanes, begin, 0);
    for (unsigned i = lane_; i < num_held_; i += 32) {
      const K key = held_[i];
      const K encoded = encoded_of(key);
      unsigned m = 0;
#pragma unroll
      for (unsigned next = 1; next < most_few_intervals; ++next) {
        m += next < a_.num_marked && encoded >= a_.low[next] ? 1 : 0;
      }
      atomicAdd(within_ + m, 1U);  // the hardware adds these up before they reach a counter
      if (begin + i < a_.capacity) a_.collected[begin + i] = key;
    }
    __syncwarp();
    num_held_ = 0;
  }

  const Order& order_;
  const few_arguments<K>& a_;
  K* held_;
  unsigned* within_;  ///< shared memory: the block's keys in each marked interval
  unsigned num_held_ = 0;
  unsigned lane_;
};

/// One read of the keys; some 8 KiB of shared memory; any number of blocks. Counts are zeroed before.
template <class K, class Order>
__global__ void __launch_bounds__(compiled_policy.threads, compiled_policy.least_blocks)
    few_intervals_kernel(Order order, __grid_constant__ const few_arguments<K> a) {
  using warp_work = few_intervals_warp<K, Order>;
  __shared__ K held[threads / 32][warp_work::held_keys];
  __shared__ unsigned from_low[most_few_intervals];
  __shared__ unsigned within[most_few_intervals];
  if (threadIdx.x < most_few_intervals) from_low[threadIdx.x] = within[threadIdx.x] = 0;
  __syncthreads();
  warp_work work(order, a, held[threadIdx.x / 32], within);
  work.run();
#pragma unroll
  for (unsigned m = 0; m < most_few_intervals; ++m) {
    const unsigned of_warp = warp_sum(work.from_low[m]);
    if (threadIdx.x % 32 == 0) atomicAdd(from_low + m, of_warp);
  }
  __syncthreads();
  if (threadIdx.x >= a.num_marked) return;
  // An unmarked interval lies between one marked interval's end and the next one's beginning. Sums may wrap around
  // before the last block has added its share.
  const unsigned m = threadIdx.x;
  const unsigned i = a.interval[m];
  atomicAdd(a.counts + i, static_cast<unsigned long long>(within[m]));
  if (i != 0 && (a.marked >> (i - 1) & 1) == 0) {
    const unsigned long long all = i == 1 && blockIdx.x == 0 ? a.num_keys : 0;
    atomicAdd(a.counts + i - 1, all - from_low[m]);
  }
  if (i + 1 < a.num_intervals && (a.marked >> (i + 1) & 1) == 0) {
    atomicAdd(a.counts + i + 1, static_cast<unsigned long long>(from_low[m] - within[m]));
  }
}

}  // namespace

bool has_few_intervals(const interval_request& request) noexcept {
  const unsigned width = request.codec.width_bytes();
  const auto num_intervals = static_cast<unsigned>(request.splitters.size() + 1);
  if ((width != 4 && width != 8) || num_intervals > 2 * most_few_intervals + 1) return false;
  const std::uint64_t all = (std::uint64_t{1} << num_intervals) - 1;
  const std::uint64_t marked = request.marked & all;
  const std::uint64_t others = ~marked & all;
  // The lowest interval has no lower bound to count from, so its count is what is left of all keys.
  return marked != 0 && (marked & 1) == 0 && std::popcount(marked) <= static_cast<int>(most_few_intervals) &&
         (others & others >> 1) == 0;
}

template <class K>
void launch_count_few_intervals(const launch_site& site, const keys::codec_of<K>& codec,
                                const interval_request& request, std::uint64_t* counts) {
  SPANSORT_ASSERT(has_few_intervals(request));
  if (request.num_keys == 0) return;
  constexpr unsigned vector_keys = 16 / sizeof(K);
  few_arguments<K> a;
  a.keys = static_cast<const K*>(request.keys);
  a.num_keys = request.num_keys;
  const std::uint64_t misaligned_bytes = reinterpret_cast<std::uintptr_t>(a.keys) % 16;
  a.num_lead = static_cast<unsigned>(std::min<std::uint64_t>((16 - misaligned_bytes) % 16 / sizeof(K), a.num_keys));
  a.num_vectors = (a.num_keys - a.num_lead) / vector_keys;
  a.num_intervals = static_cast<unsigned>(request.splitters.size() + 1);
  for (unsigned i = 0; i < a.num_intervals; ++i) {
    if ((request.marked >> i & 1) == 0) continue;
    a.marked |= std::uint64_t{1} << i;
    a.low[a.num_marked] = static_cast<K>(request.splitters[i - 1]);
    const K high = static_cast<K>(i + 1 == a.num_intervals ? ~K{0} : request.splitters[i] - 1);
    a.bounds.reach[a.num_marked] = high - a.low[a.num_marked];
    a.interval[a.num_marked++] = i;
  }
  for (unsigned m = 0; m < most_few_intervals; ++m) {
    if (m >= a.num_marked) {
      a.low[m] = a.low[m - 1];
      a.bounds.reach[m] = a.bounds.reach[m - 1];
    }
    a.bounds.minus_low[m] = K{0} - a.low[m];
  }
  a.collected = static_cast<K*>(request.collected);
  a.capacity = request.capacity;
  a.counts = reinterpret_cast<unsigned long long*>(counts);
  a.num_collected = a.counts + a.num_intervals;
  const few_intervals_policy policy = few_intervals_policy_of(site.family()).sizes;
  const std::uint64_t block_vectors = std::uint64_t{policy.threads} * policy.vectors;
  const std::uint64_t most_blocks = std::uint64_t{site.num_multiprocessors} * policy.blocks_each;
  const auto blocks =
      static_cast<unsigned>(std::clamp<std::uint64_t>(base::ceil_div(a.num_vectors, block_vectors), 1, most_blocks));
  if (codec.is_identity()) {
    few_intervals_kernel<K><<<blocks, policy.threads, 0, site.stream>>>(identity_order<K>(codec), a);
  } else {
    few_intervals_kernel<K><<<blocks, policy.threads, 0, site.stream>>>(encoded_order<K>(codec), a);
  }
  check_done(cudaGetLastError(), "few_intervals_kernel");
}

template void launch_count_few_intervals<std::uint32_t>(const launch_site&, const keys::codec_of<std::uint32_t>&,
                                                        const interval_request&, std::uint64_t*);
template void launch_count_few_intervals<std::uint64_t>(const launch_site&, const keys::codec_of<std::uint64_t>&,
                                                        const interval_request&, std::uint64_t*);

}  // namespace spansort::device::cuda
