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
constexpr unsigned fewer_cell_bits = spread_cell_bits - 4;

/// Returns whether the first look has told the device that keys are even. These go by buckets, too, whose kernels then
/// want a spread that is none.
[[nodiscard]] __device__ __forceinline__ bool are_known_even(const spread_request& request) {
  return request.ways != nullptr && request.ways[1] == order_action::passes;
}

/// Returns whether a spread is to be made of the sample. Where the host asks for one it may be of use.
[[nodiscard]] __device__ __forceinline__ bool is_wanted(const spread_request& request, const evenness_memory& memory) {
  if (request.decision != nullptr && *request.decision != order_action::passes) return false;
  if (request.ways == nullptr) return true;
  return !are_known_even(request) && is_worth_second_look(request.num_keys, memory.sums->coarse_same_key);
}

/// Returns the range of cells that a spread is made over. It is the least one that the sampled keys lie in, but ends
/// with the greatest key that there can be, or before, so that this one is in its last place or behind it. The cells
/// are the most that there may be.
[[nodiscard]] __device__ __forceinline__ spread_range range_of_sample(const evenness_memory& memory) {
  spread_range range{.least = 0, .most = 0, .shift = 0, .cell_bits = spread_cell_bits};
  const std::uint64_t least = ~memory.sums->most_inverted;
  const std::uint64_t most = memory.sums->most;
  const unsigned length_bits = least == most ? 0 : highest_bit_of(most - least) + 1;
  for (range.shift = max(length_bits, 32U) - 32;; ++range.shift) {
    // Cells begin at multiples of their width.
    const unsigned zeros = max(range.shift + 32 - fewer_cell_bits, 32U);
    const std::uint64_t last_begin = 0 - (std::uint64_t{1} << 32 << range.shift);
    const std::uint64_t begin = min(least >> zeros << zeros, last_begin);
    range.least = static_cast<std::uint32_t>(begin >> 32);
    range.most = static_cast<std::uint32_t>((std::uint64_t{1} << range.shift) - 1);
    if ((most - begin) >> range.shift >> 32 == 0) return range;
  }
}

/// Counts the sampled keys of each cell, the pairs of those alike, and the pairs in the same one of so many equal parts
/// of the range. A thread for each key. No shared memory.
__global__ void __launch_bounds__(sample_threads)
    count_spread_cells_kernel(__grid_constant__ const spread_request request,
                              __grid_constant__ const evenness_memory memory, even_keys_sizes sizes) {
  const unsigned number = blockIdx.x * sample_threads + threadIdx.x;
  if (number >= sizes.samples || !is_wanted(request, memory)) return;
  const std::uint64_t key = memory.sample[number];
  const std::uint32_t place = place_in_cells(range_of_sample(memory), key);
  const unsigned cell = place >> (32 - spread_cell_bits);
  const unsigned alike = __match_any_sync(0xffffffffU, cell);
  if (static_cast<unsigned>(__ffs(static_cast<int>(alike))) == threadIdx.x % 32 + 1) {
    atomicAdd(memory.cell_counts + cell, static_cast<unsigned>(__popc(alike)));
  }
  count_pairs(memory.buckets, place >> (32 - even_keys_bucket_bits), &memory.sums_of_spread->same_part);
  count_pairs(memory.bins, bin_of(key, sizes.bin_bits), &memory.sums_of_spread->same_key);
}

/// One block's choice of the cells, of which there are many, fewer, two or none, and of their buckets. Each thread has
/// neighbouring ones.
class spread_plan {
 public:
  static constexpr unsigned cells_each = most_cells / plan_threads;
  static_assert(plan_threads == 1U << fewer_cell_bits);
  /// Cells that have few keys have so many parts of a bucket each.
  static constexpr unsigned parts = 256;

  static constexpr unsigned warps = plan_threads / 32;
  static constexpr unsigned scales = 10;  ///< that are tried
  struct shared_memory {
    unsigned warp_sums[warps];
    unsigned warp_parts[scales][warps];
    float crowds[2][warps];
  };

  __device__ __forceinline__ spread_plan(const spread_request& request, const evenness_memory& memory,
                                         const even_keys_sizes& sizes, shared_memory& shared)
      : memory_(memory),
        samples_(sizes.samples),
        bucket_bits_(request.spread.bucket_bits),
        table_(*request.spread.table),
        shared_(shared) {}

  __device__ __forceinline__ void run() {
    spread_range range = range_of_sample(memory_);
    if (!has_even_parts()) {
      range.cell_bits = choose_buckets();
    } else if (range.least == 0 && range.shift == 32) {
      range.cell_bits = 0;
    } else {
      range.cell_bits = 1;
      if (threadIdx.x < 2) table_.cells[threadIdx.x] = cell(threadIdx.x << (bucket_bits_ - 1), bucket_bits_ - 1);
    }
    if (threadIdx.x == 0) table_.range = range;
  }

 private:
  /// This says what a thread's cells have where a key is worth so many parts of a bucket.
  struct shares {
    float scale = 0;
    block_sum_result parts = {};
  };

  [[nodiscard]] static __device__ __forceinline__ std::uint32_t cell(unsigned first_bucket, unsigned bits) {
    return first_bucket << 6 | (32 - bits);
  }

  /// Returns whether equal parts of the range will do.
  [[nodiscard]] __device__ __forceinline__ bool has_even_parts() const {
    const std::uint64_t by_chance = std::uint64_t{samples_} * (samples_ - 1) / 2 >> even_keys_bucket_bits;
    return memory_.sums_of_spread->same_part * 10 <= most_tenths_of_chance * by_chance;
  }

  /// Gives buckets to all cells, or to a sixteenth of them where these are nearly as even: lanes of a warp read fewer
  /// lines of theirs. Returns the bits of their number.
  __device__ __forceinline__ unsigned choose_buckets() {
    constexpr float worth_more_cells = 1.05F;
    float counts[cells_each];
    const auto* const words = reinterpret_cast<const uint4*>(memory_.cell_counts) + threadIdx.x * (cells_each / 4);
#pragma unroll
    for (unsigned i = 0; i < cells_each; i += 4) {
      const uint4 four = words[i / 4];
      counts[i] = static_cast<float>(four.x);
      counts[i + 1] = static_cast<float>(four.y);
      counts[i + 2] = static_cast<float>(four.z);
      counts[i + 3] = static_cast<float>(four.w);
    }
    smooth(counts);
    const float all[1] = {sum_of<cells_each>(counts)};
    const shares of_cells = share_out(counts);
    const shares of_fewer = share_out(all);
    float with_all = 0;
#pragma unroll
    for (unsigned i = 0; i < cells_each; ++i) with_all += crowd_in(&counts[i], 1, counts[i], of_cells.scale);
    const float with_fewer = crowd_in(counts, cells_each, all[0], of_fewer.scale);
    if (over_block(with_fewer, shared_.crowds[0]) > worth_more_cells * over_block(with_all, shared_.crowds[1])) {
      write(counts, of_cells);
      return spread_cell_bits;
    }
    write(all, of_fewer);
    return fewer_cell_bits;
  }

  /// Finds out how many parts of a bucket a key may have. Numbers of buckets are powers of two, so how many keys a
  /// bucket has where all of them fit is not known before. They do at 1.5 times the average.
  template <unsigned Num>
  [[nodiscard]] __device__ __forceinline__ shares share_out(const float (&counts)[Num]) {
    const unsigned num_buckets = 1U << bucket_bits_;
    const unsigned most_parts = (num_buckets - 1) * parts;
    const float most_scale = static_cast<float>(num_buckets) * parts / static_cast<float>(samples_);
    const auto scale_of = [&](unsigned number) {
      return most_scale * static_cast<float>(scales - 1 - number) / (scales - 1);
    };
    const unsigned lane = threadIdx.x % 32;
    const unsigned warp = threadIdx.x / 32;
    shares found;
    // All fit in the end: at a scale of 0 a cell takes one part at most.
#pragma unroll 1
    for (unsigned s = 0;; ++s) {
      found.scale = scale_of(s);
      const unsigned mine = all_parts_of(counts, found.scale);
      const unsigned of_warp = warp_sum(mine);
      if (lane == 0) shared_.warp_parts[s][warp] = of_warp;
      __syncthreads();
      if (warp_sum(shared_.warp_parts[s][lane]) > most_parts) continue;
      found.parts = sum_over_block<plan_threads>(mine, shared_.warp_sums);
      return found;
    }
  }

  /// Returns the parts of a thread's cells.
  template <unsigned Num>
  [[nodiscard]] __device__ __forceinline__ unsigned all_parts_of(const float (&counts)[Num], float scale) const {
    unsigned mine = 0;
#pragma unroll
    for (unsigned i = 0; i < Num; ++i) mine += parts_of(counts[i], scale);
    return mine;
  }

  /// Returns the sum of `x` over all threads, to each of them alike.
  [[nodiscard]] static __device__ __forceinline__ float over_block(float x, float (&of_warps)[warps]) {
    static_assert(warps == 32);
    const float of_warp = over_warp(x);
    if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = of_warp;
    __syncthreads();
    return over_warp(of_warps[threadIdx.x % 32]);
  }
  [[nodiscard]] static __device__ __forceinline__ float over_warp(float x) {
#pragma unroll
    for (unsigned distance = 16; distance != 0; distance /= 2) x += __shfl_xor_sync(0xffffffffU, x, distance);
    return x;
  }

  template <unsigned Num>
  __device__ __forceinline__ void write(const float (&counts)[Num], const shares& of_cells) {
    unsigned end = of_cells.parts.before;
    std::uint32_t cells[Num];
#pragma unroll
    for (unsigned i = 0; i < Num; ++i) {
      const unsigned begin = end;
      end += parts_of(counts[i], of_cells.scale);
      const unsigned bits = bits_of(counts[i], of_cells.scale);
      // What lies above the sample is in the last bucket.
      const unsigned first = end == of_cells.parts.total ? (1U << bucket_bits_) - (1U << bits) : begin / parts;
      cells[i] = cell(first, bits);
    }
    std::uint32_t* const to = table_.cells + threadIdx.x * Num;
    if constexpr (Num % 4 == 0) {
#pragma unroll
      for (unsigned i = 0; i < Num; i += 4) {
        reinterpret_cast<uint4*>(to)[i / 4] = {cells[i], cells[i + 1], cells[i + 2], cells[i + 3]};
      }
    } else {
#pragma unroll
      for (unsigned i = 0; i < Num; ++i) to[i] = cells[i];
    }
  }

  /// Returns the sum, over the sampled keys of a cell, of how many are in the same bucket. `counts`: of so many equal
  /// parts of the cell, each even.
  [[nodiscard]] __device__ __forceinline__ float crowd_in(const float* counts, unsigned num_counts, float count,
                                                          float scale) const {
    if (count * scale < parts) return count * (parts / scale);  // in a bucket with others
    const unsigned num_buckets = 1U << bits_of(count, scale);
    const unsigned together = num_counts > num_buckets ? num_counts / num_buckets : 1;
    float crowd = 0;
    float in_bucket = 0;
    for (unsigned i = 0; i < num_counts; ++i) {
      in_bucket += counts[i];
      if ((i + 1) % together != 0) continue;
      crowd += in_bucket * in_bucket;
      in_bucket = 0;
    }
    return num_buckets > num_counts ? crowd * static_cast<float>(num_counts) / static_cast<float>(num_buckets) : crowd;
  }

  /// Makes the counts of halves of a thread's cells alike, and of halves of these, where chance may be all that sets
  /// them apart: counts of so many differ by more than four deviations once in 16,000 times.
  static __device__ __forceinline__ void smooth(float (&counts)[cells_each]) {
    float smoothed[cells_each];
    smoothed[0] = sum_of<cells_each>(counts);
    smooth_halves<cells_each>(counts, smoothed);
#pragma unroll
    for (unsigned i = 0; i < cells_each; ++i) counts[i] = smoothed[i];
  }

  /// Shares out what is smoothed[i] among its halves, for every `Width`th i, and goes on with these.
  template <unsigned Width>
  static __device__ __forceinline__ void smooth_halves(const float (&counts)[cells_each],
                                                       float (&smoothed)[cells_each]) {
    constexpr unsigned half = Width / 2;
    constexpr float deviations = 4;
#pragma unroll
    for (unsigned i = 0; i < cells_each; i += Width) {
      const float left = sum_of<half>(counts, i);
      const float both = left + sum_of<half>(counts, i + half);
      const float apart = 2 * left - both;
      const float share = apart * apart <= deviations * deviations * both ? 0.5F : left / both;
      smoothed[i + half] = smoothed[i] * (1 - share);
      smoothed[i] *= share;
    }
    if constexpr (half > 1) smooth_halves<half>(counts, smoothed);
  }

  /// Returns how many sampled keys so many cells have.
  template <unsigned Num>
  [[nodiscard]] static __device__ __forceinline__ float sum_of(const float (&counts)[cells_each], unsigned first = 0) {
    float sum = 0;
#pragma unroll
    for (unsigned i = 0; i < Num; ++i) sum += counts[first + i];
    return sum;
  }

  /// Returns the bits of a cell's number of buckets: of the power of two closest to what its keys are worth, but one at
  /// least.
  [[nodiscard]] __device__ __forceinline__ unsigned bits_of(float count, float scale) const {
    constexpr float middle = 1.41421356F;  // between two powers
    const auto scaled = static_cast<unsigned>(count * scale * middle) / parts;
    return scaled == 0 ? 0 : min(highest_bit_of(scaled), bucket_bits_);
  }
  /// Returns the parts of buckets that a cell takes.
  [[nodiscard]] __device__ __forceinline__ unsigned parts_of(float count, float scale) const {
    const auto worth = static_cast<unsigned>(count * scale);
    return worth < parts && count != 0 ? max(worth, 1U) : (count == 0 ? 0 : parts << bits_of(count, scale));
  }

  const evenness_memory& memory_;
  const unsigned samples_;
  const unsigned bucket_bits_;
  spread_table& table_;
  shared_memory& shared_;
};

/// Chooses the cells' buckets. One block; 1,664 bytes of shared memory.
__global__ void __launch_bounds__(plan_threads)
    plan_spread_kernel(__grid_constant__ const spread_request request, __grid_constant__ const evenness_memory memory,
                       even_keys_sizes sizes) {
  __shared__ spread_plan::shared_memory shared;
  if (are_known_even(request) && threadIdx.x == 0) request.spread.table->range = {};
  if (!is_wanted(request, memory)) return;
  spread_plan(request, memory, sizes, shared).run();
}

/// Tells the host what was found, or the device which way to take. One thread, when all have added their pairs.
__device__ __forceinline__ void give(const spread_request& request, order_action action,
                                     const evenness_memory& memory) {
  spread_sums* const sums = memory.sums_of_spread;
  const std::uint64_t same_bucket = atomicAdd(&sums->same_bucket, 0ULL);
  if (request.ways != nullptr) {
    const bool is_spread =
        is_wanted(request, memory) && are_spread(request.num_keys, std::uint64_t{1} << request.spread.bucket_bits,
                                                 request.most_finished, same_bucket, sums->same_key);
    const bool fits = are_known_even(request) || is_spread;
    request.ways[0] = action != order_action::passes || !fits ? action : order_action::counts;
    request.ways[1] = action != order_action::passes || fits ? action : order_action::counts;
    return;
  }
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
  if (number < sizes.samples && is_wanted(request, memory)) {
    const key_spread spread = request.spread;
    const unsigned bucket = bucket_of(spread, memory.sample[number]) >> (spread.bucket_bits - even_keys_bucket_bits);
    count_pairs(memory.keys_or_spread_buckets, bucket, &memory.sums_of_spread->same_bucket);
    __threadfence();
  }
  __syncthreads();
  if (threadIdx.x == 0 && atomicAdd(&memory.sums_of_spread->num_done, 1U) + 1 == gridDim.x) {
    give(request, action, memory);
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
