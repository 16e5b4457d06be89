// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/cuda_error.hpp"
#include "device/cuda/kernels/chip_tile.cuh"
#include "device/cuda/kernels/count_pairs.cuh"
#include "device/cuda/kernels/evenness.hpp"
#include "device/cuda/kernels/published_sorts.cuh"
#include "device/cuda/kernels/spread_order.cuh"

namespace spansort::device::cuda {
namespace {

constexpr unsigned sample_threads = 256;
constexpr unsigned plan_threads = 1024;
constexpr unsigned most_cells = 1U << spread_cell_bits;

/// Returns the range of cells that a spread is made over. That of the sample is the least one that the sampled keys lie
/// in, but ends with the greatest key that there can be, or before, so that this one is in its last place or behind it.
/// The cells are not chosen yet.
[[nodiscard]] __device__ __forceinline__ key_spread range_of(const spread_request& request,
                                                             const evenness_memory& memory) {
  key_spread spread = request.whole_range();
  if (request.range == spread_range::whole) return spread;
  const std::uint64_t least = ~memory.sums->most_inverted;
  const std::uint64_t most = memory.sums->most;
  const unsigned length_bits = least == most ? 0 : highest_bit_of(most - least) + 1;
  for (spread.shift = max(length_bits, 32U) - 32;; ++spread.shift) {
    // Cells begin at multiples of their width.
    const unsigned zeros = max(spread.shift + 32 - spread_cell_bits, 32U);
    const std::uint64_t last_begin = 0 - (std::uint64_t{1} << 32 << spread.shift);
    const std::uint64_t begin = min(least >> zeros << zeros, last_begin);
    spread.least = static_cast<std::uint32_t>(begin >> 32);
    if ((most - begin) >> spread.shift >> 32 == 0) return spread;
  }
}

/// Counts the sampled keys of each cell, the pairs of those alike, and the pairs in the same one of so many equal parts
/// of the range. A thread for each key. No shared memory.
__global__ void __launch_bounds__(sample_threads)
    count_spread_cells_kernel(__grid_constant__ const spread_request request,
                              __grid_constant__ const evenness_memory memory, even_keys_sizes sizes) {
  const unsigned number = blockIdx.x * sample_threads + threadIdx.x;
  if (number >= sizes.samples) return;
  if (request.decision != nullptr && *request.decision != order_action::passes) return;
  const key_spread spread = range_of(request, memory);
  const std::uint64_t key = memory.sample[number];
  const std::uint32_t place = place_in_cells(spread, key);
  const unsigned cell = cell_of(spread, place);
  const unsigned alike = __match_any_sync(0xffffffffU, cell);
  if (static_cast<unsigned>(__ffs(static_cast<int>(alike))) == threadIdx.x % 32 + 1) {
    atomicAdd(memory.cell_counts + cell, static_cast<unsigned>(__popc(alike)));
  }
  count_pairs(memory.buckets, place >> (32 - even_keys_bucket_bits), &memory.sums_of_spread->same_part);
  count_pairs(memory.bins, bin_of(key, sizes), &memory.sums_of_spread->same_key);
}

/// One block's choice of the cells' buckets. Each thread has neighbouring cells.
class spread_plan {
 public:
  static constexpr unsigned cells_each = most_cells / plan_threads;
  /// Cells that have few keys have so many parts of a bucket each.
  static constexpr unsigned parts = 256;

  struct shared_memory {
    unsigned warp_sums[plan_threads / 32];
  };

  __device__ __forceinline__ spread_plan(const spread_request& request, const evenness_memory& memory,
                                         const even_keys_sizes& sizes, shared_memory& shared)
      : request_(request),
        memory_(memory),
        samples_(sizes.samples),
        bucket_bits_(request.bucket_bits),
        cells_(request.cells),
        shared_(shared) {}

  __device__ __forceinline__ void run() {
    key_spread spread = range_of(request_, memory_);
    if (request_.range == spread_range::of_sample && has_even_parts()) {
      spread.cell_bits = 1;
      if (threadIdx.x < 2) cells_[threadIdx.x] = cell(threadIdx.x << (bucket_bits_ - 1), bucket_bits_ - 1);
    } else {
      choose_buckets();
    }
    if (threadIdx.x == 0) *memory_.spread = spread;
  }

 private:
  [[nodiscard]] static __device__ __forceinline__ std::uint32_t cell(unsigned first_bucket, unsigned bits) {
    return first_bucket << 6 | (32 - bits);
  }

  /// Returns whether equal parts of the range will do.
  [[nodiscard]] __device__ __forceinline__ bool has_even_parts() const {
    const std::uint64_t by_chance = std::uint64_t{samples_} * (samples_ - 1) / 2 >> even_keys_bucket_bits;
    return memory_.sums_of_spread->same_part * 10 <= most_tenths_of_chance * by_chance;
  }

  __device__ __forceinline__ void choose_buckets() {
#pragma unroll
    for (unsigned i = 0; i < cells_each; ++i) counts_[i] = memory_.cell_counts[threadIdx.x * cells_each + i];
    // Numbers of buckets are powers of two, so how many keys a bucket has where all of them fit is not known before.
    // They do at 1.5 times the average.
    const unsigned num_buckets = 1U << bucket_bits_;
    const unsigned most_parts = (num_buckets - 1) * parts;
    block_sum_result sum{};
    float scale = static_cast<float>(num_buckets) * parts / static_cast<float>(samples_);
    for (const float step = scale / 9;; scale -= step) {
      unsigned mine = 0;
#pragma unroll
      for (unsigned i = 0; i < cells_each; ++i) mine += parts_of(counts_[i], scale);
      sum = sum_over_block<plan_threads>(mine, shared_.warp_sums);
      if (sum.total <= most_parts) break;
    }
    unsigned end = sum.before;
#pragma unroll
    for (unsigned i = 0; i < cells_each; ++i) {
      const unsigned begin = end;
      end += parts_of(counts_[i], scale);
      const unsigned bits = bits_of(counts_[i], scale);
      // What lies above the sample is in the last bucket.
      const unsigned first = end == sum.total ? num_buckets - (1U << bits) : begin / parts;
      cells_[threadIdx.x * cells_each + i] = cell(first, bits);
    }
  }

  /// Returns the bits of a cell's number of buckets: of the power of two closest to what its keys are worth, but one at
  /// least.
  [[nodiscard]] __device__ __forceinline__ unsigned bits_of(unsigned count, float scale) const {
    constexpr float middle = 1.41421356F;  // between two powers
    const auto scaled = static_cast<unsigned>(static_cast<float>(count) * scale * middle) / parts;
    return scaled == 0 ? 0 : min(highest_bit_of(scaled), bucket_bits_);
  }
  /// Returns the parts of buckets that a cell takes.
  [[nodiscard]] __device__ __forceinline__ unsigned parts_of(unsigned count, float scale) const {
    const auto worth = static_cast<unsigned>(static_cast<float>(count) * scale);
    return worth < parts && count != 0 ? max(worth, 1U) : (count == 0 ? 0 : parts << bits_of(count, scale));
  }

  const spread_request& request_;
  const evenness_memory& memory_;
  const unsigned samples_;
  const unsigned bucket_bits_;
  std::uint32_t* const cells_;
  shared_memory& shared_;
  unsigned counts_[cells_each];
};

/// Chooses the cells' buckets. One block; 128 bytes of shared memory.
__global__ void __launch_bounds__(plan_threads)
    plan_spread_kernel(__grid_constant__ const spread_request request, __grid_constant__ const evenness_memory memory,
                       even_keys_sizes sizes) {
  __shared__ spread_plan::shared_memory shared;
  if (request.decision != nullptr && *request.decision != order_action::passes) return;
  spread_plan(request, memory, sizes, shared).run();
}

/// Tells the host what was found, or the device which way to take. One thread, when all have added their pairs.
__device__ __forceinline__ void give(const spread_request& request, const key_spread& spread, order_action action,
                                     spread_sums* sums) {
  const std::uint64_t same_bucket = atomicAdd(&sums->same_bucket, 0ULL);
  if (request.ways != nullptr) {
    const bool fits = are_spread(request.num_keys, std::uint64_t{1} << request.bucket_bits, request.most_finished,
                                 same_bucket, sums->same_key);
    request.ways[0] = action != order_action::passes || !fits ? action : order_action::counts;
    request.ways[1] = action != order_action::passes || fits ? action : order_action::counts;
    return;
  }
  request.mailbox->spread = spread;
  request.mailbox->same_bucket = same_bucket;
  request.mailbox->same_key = sums->same_key;
  __threadfence_system();
  *static_cast<volatile unsigned*>(&request.mailbox->is_full) = 1;
}

/// Counts the pairs of sampled keys that are in buckets of the same 16 highest bits, and tells what was found. A thread
/// for each key. No shared memory.
__global__ void __launch_bounds__(sample_threads)
    try_spread_kernel(__grid_constant__ const spread_request request, __grid_constant__ const evenness_memory memory,
                      even_keys_sizes sizes) {
  const order_action action = request.decision == nullptr ? order_action::passes : *request.decision;
  const unsigned number = blockIdx.x * sample_threads + threadIdx.x;
  key_spread spread = *memory.spread;
  spread.cells = request.cells;
  if (action == order_action::passes && number < sizes.samples) {
    const unsigned bucket = bucket_of(spread, memory.sample[number]) >> (spread.bucket_bits - even_keys_bucket_bits);
    count_pairs(memory.spread_buckets, bucket, &memory.sums_of_spread->same_bucket);
    __threadfence();
  }
  __syncthreads();
  if (threadIdx.x == 0 && atomicAdd(&memory.sums_of_spread->num_done, 1U) + 1 == gridDim.x) {
    give(request, spread, action, memory.sums_of_spread);
  }
}

}  // namespace

void launch_key_spread(const launch_site& site, const even_keys_sizes& sizes, const evenness_memory& memory,
                       const spread_request& request) {
  const auto num_blocks = static_cast<unsigned>(base::ceil_div(sizes.samples, sample_threads));
  SPANSORT_CUDA(cudaMemsetAsync(memory.buckets, 0, evenness_memory::second_bytes(sizes), site.stream));
  count_spread_cells_kernel<<<num_blocks, sample_threads, 0, site.stream>>>(request, memory, sizes);
  check_done(cudaGetLastError(), "count_spread_cells_kernel");
  plan_spread_kernel<<<1, plan_threads, 0, site.stream>>>(request, memory, sizes);
  check_done(cudaGetLastError(), "plan_spread_kernel");
  try_spread_kernel<<<num_blocks, sample_threads, 0, site.stream>>>(request, memory, sizes);
  check_done(cudaGetLastError(), "try_spread_kernel");
}

}  // namespace spansort::device::cuda
