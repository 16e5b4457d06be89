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

/// Returns the least range of cells that the sampled keys lie in. It ends with the greatest key that there can be, or
/// before, so that this one is in its last place or behind it. The cells are not chosen yet.
[[nodiscard]] __device__ __forceinline__ key_spread range_of_sample(const evenness_memory& memory,
                                                                    unsigned bucket_bits) {
  const std::uint64_t least = ~memory.sums->most_inverted;
  const std::uint64_t most = memory.sums->most;
  const unsigned length_bits = least == most ? 0 : highest_bit_of(most - least) + 1;
  key_spread spread;
  spread.cell_bits = spread_cell_bits;
  spread.bucket_bits = bucket_bits;
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
    count_spread_cells_kernel(__grid_constant__ const evenness_memory memory, even_keys_sizes sizes) {
  const unsigned number = blockIdx.x * sample_threads + threadIdx.x;
  if (number >= sizes.samples) return;
  const key_spread spread = range_of_sample(memory, 0);
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

  __device__ __forceinline__ spread_plan(const evenness_memory& memory, const even_keys_sizes& sizes,
                                         unsigned bucket_bits, std::uint32_t* cells, shared_memory& shared)
      : memory_(memory), samples_(sizes.samples), bucket_bits_(bucket_bits), cells_(cells), shared_(shared) {}

  __device__ __forceinline__ void run() {
    key_spread spread = range_of_sample(memory_, bucket_bits_);
    if (has_even_parts()) {
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

  const evenness_memory& memory_;
  const unsigned samples_;
  const unsigned bucket_bits_;
  std::uint32_t* const cells_;
  shared_memory& shared_;
  unsigned counts_[cells_each];
};

__global__ void __launch_bounds__(plan_threads)
    plan_spread_kernel(__grid_constant__ const evenness_memory memory, even_keys_sizes sizes, unsigned bucket_bits,
                       std::uint32_t* cells) {
  __shared__ spread_plan::shared_memory shared;
  spread_plan(memory, sizes, bucket_bits, cells, shared).run();
}

/// Counts the pairs of sampled keys that are in buckets of the same 16 highest bits, and tells the host what was found. A thread for each
/// key. No shared memory.
__global__ void __launch_bounds__(sample_threads)
    try_spread_kernel(__grid_constant__ const evenness_memory memory, even_keys_sizes sizes, const std::uint32_t* cells,
                      spread_mailbox* mailbox) {
  const unsigned number = blockIdx.x * sample_threads + threadIdx.x;
  key_spread spread = *memory.spread;
  spread.cells = cells;
  if (number < sizes.samples) {
    const unsigned bucket = bucket_of(spread, memory.sample[number]) >> (spread.bucket_bits - even_keys_bucket_bits);
    count_pairs(memory.spread_buckets, bucket, &memory.sums_of_spread->same_bucket);
    __threadfence();
  }
  __syncthreads();
  if (threadIdx.x != 0 || atomicAdd(&memory.sums_of_spread->num_done, 1U) + 1 != gridDim.x) return;
  mailbox->spread = spread;
  mailbox->same_bucket = atomicAdd(&memory.sums_of_spread->same_bucket, 0ULL);
  mailbox->same_key = memory.sums_of_spread->same_key;
  __threadfence_system();
  *static_cast<volatile unsigned*>(&mailbox->is_full) = 1;
}

}  // namespace

void launch_key_spread(const launch_site& site, const even_keys_sizes& sizes, const evenness_memory& memory,
                       unsigned bucket_bits, std::uint32_t* cells, spread_mailbox* mailbox) {
  const auto num_blocks = static_cast<unsigned>(base::ceil_div(sizes.samples, sample_threads));
  SPANSORT_CUDA(cudaMemsetAsync(memory.buckets, 0, evenness_memory::second_bytes(sizes), site.stream));
  count_spread_cells_kernel<<<num_blocks, sample_threads, 0, site.stream>>>(memory, sizes);
  check_done(cudaGetLastError(), "count_spread_cells_kernel");
  plan_spread_kernel<<<1, plan_threads, 0, site.stream>>>(memory, sizes, bucket_bits, cells);
  check_done(cudaGetLastError(), "plan_spread_kernel");
  try_spread_kernel<<<num_blocks, sample_threads, 0, site.stream>>>(memory, sizes, cells, mailbox);
  check_done(cudaGetLastError(), "try_spread_kernel");
}

}  // namespace spansort::device::cuda
