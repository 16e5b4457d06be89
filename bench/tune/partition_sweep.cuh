// SPDX-License-Identifier: Apache-2.0
// The partition kernels with all sizes that a GPU may have room for. A pass goes over uniform keys by their lowest
// eight bits. Values are the records' positions, so that they tell whether the pass kept the order.
#pragma once

#include <algorithm>
#include <array>
#include <utility>

#include "bench/gpu/timing.hpp"
#include "bench/tune/sweep.hpp"
#include "device/cuda/cuda_error.hpp"
#include "device/cuda/handles.hpp"
#include "device/cuda/kernels/partition.cuh"
#include "device/cuda/kernels/request.hpp"
#include "device/cuda/kernels/unordered_partition.cuh"

namespace bench::tune {

namespace cuda = spansort::device::cuda;

inline constexpr unsigned swept_buckets = cuda::max_partition_buckets;

/// Shared memory that a block may take so that `blocks_each` of them fit a multiprocessor, where the system keeps 1 KiB
/// a block. `ampere` has 8.0 with 164 KiB a multiprocessor, and 8.6 and 12.0 with 100.
struct shared_budget {
  cuda::kernel_family family = cuda::kernel_family::hopper;
  unsigned bytes = 0;
  unsigned blocks_each = 0;
};
inline constexpr std::array<shared_budget, 8> shared_budgets{{{cuda::kernel_family::hopper, 227U << 10, 1},
                                                              {cuda::kernel_family::hopper, 113U << 10, 2},
                                                              {cuda::kernel_family::hopper, 75U << 10, 3},
                                                              {cuda::kernel_family::ampere, 99U << 10, 1},
                                                              {cuda::kernel_family::ampere, 81U << 10, 2},
                                                              {cuda::kernel_family::ampere, 49U << 10, 2},
                                                              {cuda::kernel_family::turing, 64U << 10, 1},
                                                              {cuda::kernel_family::turing, 32U << 10, 2}}};
inline constexpr std::array<unsigned, 3> swept_threads{384, 512, 1024};

/// Returns sizes as the tables have them.
[[nodiscard]] inline std::string sizes_text(const std::array<unsigned, 4>& sizes) {
  std::string text;
  for (const unsigned size : sizes) {
    text += text.empty() ? '{' : ',';
    if (text.size() > 1) text += ' ';
    text += std::to_string(size);
  }
  text += '}';
  return text;
}

/// Sizes that are tried on GPUs of a family.
template <class Policy>
struct candidate {
  cuda::kernel_family family = cuda::kernel_family::hopper;
  Policy policy;

  friend constexpr bool operator==(const candidate&, const candidate&) = default;
};

/// All sizes that are tried, each once: those in use, and for each budget and number of threads as many items as fit,
/// and an eighth less. Registers bound the items, for keys stay in them: half of a thread's registers may hold keys. A
/// tile of pairs has its places in 16 bits, and the states of a portion count up to 2^30 records.
template <class Policy>
struct candidate_list {
  std::array<candidate<Policy>, 2 * shared_budgets.size() * swept_threads.size() + cuda::kernel_families.size()>
      items{};
  std::size_t count = 0;

  constexpr void add(const candidate<Policy>& c) {
    for (std::size_t i = 0; i < count; ++i) {
      if (items[i] == c) return;
    }
    items[count++] = c;
  }
};

[[nodiscard]] constexpr auto ordered_candidates(unsigned key_bytes, unsigned value_bytes) {
  using policy = cuda::partition_policy;
  candidate_list<policy> list;
  for (const cuda::kernel_family family : cuda::kernel_families) {
    list.add({family, cuda::partition_policy_of(family, key_bytes, value_bytes).sizes});
  }
  const unsigned record_bytes = cuda::tile_record_bytes(key_bytes, value_bytes);
  for (const shared_budget& budget : shared_budgets) {
    for (const unsigned threads : swept_threads) {
      const unsigned other_bytes = threads / 32 * swept_buckets * 4 + swept_buckets * 16 + 256;
      if (threads * budget.blocks_each > 1536 || budget.bytes <= other_bytes) continue;
      const unsigned registers = 65536 / (threads * budget.blocks_each);
      const unsigned most_items = std::min({registers / 2 / (key_bytes / 4), 32767 / threads, 40U});
      const unsigned fitting = std::min((budget.bytes - other_bytes) / threads / record_bytes, most_items);
      for (const unsigned items : {fitting, fitting - fitting / 8}) {
        if (items >= 7) list.add({budget.family, {threads, items, budget.blocks_each, 4}});
      }
    }
  }
  return list;
}

[[nodiscard]] constexpr auto unordered_candidates(unsigned key_bytes) {
  using policy = cuda::unordered_partition_policy;
  candidate_list<policy> list;
  for (const cuda::kernel_family family : cuda::kernel_families) {
    list.add({family, cuda::unordered_partition_policy_of(family, key_bytes).sizes});
  }
  for (const shared_budget& budget : shared_budgets) {
    for (const unsigned threads : swept_threads) {
      const unsigned other_bytes = swept_buckets * 12 + 256;
      if (threads * budget.blocks_each > 1536) continue;
      const unsigned registers = 65536 / (threads * budget.blocks_each);
      const unsigned most_items = std::min(registers / 2 / (key_bytes / 4), 40U);
      const unsigned fitting = std::min((budget.bytes - other_bytes) / threads / key_bytes, most_items);
      for (const unsigned items : {fitting, fitting - fitting / 8}) {
        if (items >= 7) list.add({budget.family, {threads, items, budget.blocks_each, 8}});
      }
    }
  }
  return list;
}

/// Kernels of other families than the code's are left empty. The sizes are parameters one by one, for nvcc 13.0 makes
/// no kernel of a template whose parameter is of a class template.
template <class K, class V, cuda::kernel_family Family, unsigned Threads, unsigned Items, unsigned Blocks,
          unsigned LookBack>
__global__ void __launch_bounds__(Threads, Blocks)
    ordered_kernel(cuda::identity_order<K> order, cuda::partition_arguments<K> arguments) {
  constexpr cuda::partition_policy policy{Threads, Items, Blocks, LookBack};
  using tile = cuda::partition_tile<K, V, cuda::identity_order<K>, policy>;
  extern __shared__ __align__(16) unsigned char shared_bytes[];
  if constexpr (Family == cuda::compiled_family)
    tile(order, arguments, *reinterpret_cast<typename tile::shared_memory*>(shared_bytes)).run();
}

template <class K, cuda::kernel_family Family, unsigned Threads, unsigned Items, unsigned Blocks, unsigned Crowded>
__global__ void __launch_bounds__(Threads, Blocks)
    unordered_kernel(cuda::identity_order<K> order, cuda::unordered_partition_arguments<K> arguments) {
  constexpr cuda::unordered_partition_policy policy{Threads, Items, Blocks, Crowded};
  using tile = cuda::unordered_tile<K, cuda::identity_order<K>, policy>;
  extern __shared__ __align__(16) unsigned char shared_bytes[];
  if constexpr (Family == cuda::compiled_family)
    tile(order, arguments, *reinterpret_cast<typename tile::shared_memory*>(shared_bytes)).run();
}

/// A mix of all bits of x (the finaliser of SplitMix64, Steele, Lea, Flood, 2014).
__device__ __forceinline__ std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

/// Makes record i: a random key, and i as its value.
template <class K>
__device__ __forceinline__ K key_at(std::uint64_t seed, std::uint64_t i) {
  return static_cast<K>(mixed(seed + (i + 1) * 0x9e3779b97f4a7c15U));
}

template <class K, class V>
__global__ void make_kernel(std::uint64_t seed, std::uint64_t count, K* keys, V* values, std::uint64_t* counts) {
  __shared__ unsigned long long in_block[swept_buckets];
  in_block[threadIdx.x] = 0;
  __syncthreads();
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count;
       i += std::uint64_t{gridDim.x} * blockDim.x) {
    keys[i] = key_at<K>(seed, i);
    atomicAdd(&in_block[keys[i] % swept_buckets], 1ULL);
    if constexpr (cuda::value_bytes_of<V> == 16) values[i].words[0] = values[i].words[1] = i;
    if constexpr (cuda::value_bytes_of<V> == 4 || cuda::value_bytes_of<V> == 8) {
      values[i].word = static_cast<decltype(values[i].word)>(i);
    }
  }
  __syncthreads();
  atomicAdd(reinterpret_cast<unsigned long long*>(counts + threadIdx.x), in_block[threadIdx.x]);
}

/// One block: turns counts into targets.
template <class K, class V>
__global__ void targets_kernel(const std::uint64_t* counts, K* keys, V* values, cuda::bucket_target* targets) {
  std::uint64_t begin = 0;
  for (unsigned b = 0; b < threadIdx.x; ++b) begin += counts[b];
  targets[threadIdx.x].keys = keys + begin;
  if constexpr (cuda::value_bytes_of<V> != 0) targets[threadIdx.x].values = values + begin;
}

/// Adds up to `sums`: [0] records out of place, [1] a sum over all keys that has to be that of the input.
template <class K, class V>
__global__ void check_kernel(std::uint64_t seed, std::uint64_t count, const K* keys, const V* values,
                             std::uint64_t* sums) {
  std::uint64_t wrong = 0;
  std::uint64_t sum = 0;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count;
       i += std::uint64_t{gridDim.x} * blockDim.x) {
    sum += mixed(keys[i]) - mixed(key_at<K>(seed, i));
    const unsigned digit = keys[i] % swept_buckets;
    const unsigned before = i == 0 ? 0 : keys[i - 1] % swept_buckets;
    bool is_wrong = digit < before;
    if constexpr (cuda::value_bytes_of<V> != 0) {
      const auto position_of = [&](std::uint64_t at) -> std::uint64_t {
        if constexpr (cuda::value_bytes_of<V> == 16)
          return values[at].words[0];
        else
          return values[at].word;
      };
      is_wrong = is_wrong || keys[i] != key_at<K>(seed, position_of(i));
      is_wrong = is_wrong || (i != 0 && digit == before && position_of(i) <= position_of(i - 1));
      if constexpr (cuda::value_bytes_of<V> == 16) is_wrong = is_wrong || values[i].words[1] != values[i].words[0];
    }
    wrong += is_wrong ? 1 : 0;
  }
  atomicAdd(reinterpret_cast<unsigned long long*>(sums), wrong);
  atomicAdd(reinterpret_cast<unsigned long long*>(sums + 1), sum);
}

/// Memory of a sweep, and what its runs share.
template <class K, class V>
class partition_race {
 public:
  explicit partition_race(const sweep_settings& s) : s_(s), n_(s.num_records) {
    source_keys_ = cuda::allocate_device_memory(n_ * sizeof(K));
    keys_ = cuda::allocate_device_memory(n_ * sizeof(K));
    const std::uint64_t value_bytes = std::max<std::uint64_t>(n_ * cuda::value_bytes_of<V>, 1);
    source_values_ = cuda::allocate_device_memory(value_bytes);
    values_ = cuda::allocate_device_memory(value_bytes);
    counts_ = cuda::allocate_device_memory(swept_buckets * 8);
    targets_ = cuda::allocate_device_memory(2 * swept_buckets * sizeof(cuda::bucket_target));
    states_ = cuda::allocate_device_memory(states_bytes());
    sums_ = cuda::allocate_device_memory(16);
    SPANSORT_CUDA(cudaMemset(counts_.get(), 0, swept_buckets * 8));
    make_kernel<<<1024, swept_buckets>>>(s.seed, n_, static_cast<K*>(source_keys_.get()),
                                         static_cast<V*>(source_values_.get()),
                                         static_cast<std::uint64_t*>(counts_.get()));
    cuda::check_done(cudaGetLastError(), "make_kernel");
    int ordinal = 0, shared_bytes = 0;
    SPANSORT_CUDA(cudaGetDevice(&ordinal));
    SPANSORT_CUDA(cudaDeviceGetAttribute(&shared_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, ordinal));
    most_shared_bytes_ = static_cast<unsigned>(shared_bytes);
  }

  template <candidate<cuda::partition_policy> C>
  void run_ordered(std::vector<sweep_line>& lines) {
    if (C.family != family_) return;
    constexpr cuda::partition_policy policy = C.policy;
    using tile = cuda::partition_tile<K, V, cuda::identity_order<K>, policy>;
    cuda::partition_arguments<K> a;
    a.keys = static_cast<const K*>(source_keys_.get());
    a.values = source_values_.get();
    a.num_keys = static_cast<std::uint32_t>(n_);
    a.mask = swept_buckets - 1;
    a.targets = static_cast<cuda::bucket_target*>(targets_.get());
    a.next_targets = static_cast<cuda::bucket_target*>(targets_.get()) + swept_buckets;
    a.tile_counter = static_cast<std::uint32_t*>(states_.get());
    a.tile_states = a.tile_counter + 64;
    sweep_line line =
        run(ordered_kernel<K, V, C.family, policy.threads, policy.items, policy.least_blocks, policy.look_back>, a,
            policy.threads, tile::tile_keys, sizeof(typename tile::shared_memory));
    line.sizes = sizes_text({policy.threads, policy.items, policy.least_blocks, policy.look_back});
    line.is_in_use = policy == cuda::partition_policy_of(family_, sizeof(K), cuda::value_bytes_of<V>).sizes;
    lines.push_back(std::move(line));
  }

  template <candidate<cuda::unordered_partition_policy> C>
  void run_unordered(std::vector<sweep_line>& lines) {
    if (C.family != family_) return;
    constexpr cuda::unordered_partition_policy policy = C.policy;
    using tile = cuda::unordered_tile<K, cuda::identity_order<K>, policy>;
    cuda::unordered_partition_arguments<K> a;
    a.keys = static_cast<const K*>(source_keys_.get());
    a.num_keys = n_;
    a.mask = swept_buckets - 1;
    a.targets = static_cast<cuda::bucket_target*>(targets_.get());
    sweep_line line =
        run(unordered_kernel<K, C.family, policy.threads, policy.items, policy.least_blocks, policy.crowded_part>, a,
            policy.threads, tile::tile_keys, sizeof(typename tile::shared_memory));
    line.sizes = sizes_text({policy.threads, policy.items, policy.least_blocks, policy.crowded_part});
    line.is_in_use = policy == cuda::unordered_partition_policy_of(family_, sizeof(K)).sizes;
    lines.push_back(std::move(line));
  }

 private:
  /// No tile that is swept has fewer than 256 * 7 records.
  [[nodiscard]] std::uint64_t states_bytes() const { return 256 + (n_ / (256 * 7) + 1) * swept_buckets * 4; }

  template <class Kernel, class Arguments>
  [[nodiscard]] sweep_line run(Kernel* kernel, const Arguments& a, unsigned threads, unsigned tile_keys,
                               std::uint64_t shared_bytes) {
    sweep_line line;
    line.shared_bytes = static_cast<unsigned>(shared_bytes);
    line.fits = shared_bytes <= most_shared_bytes_;
    cudaFuncAttributes code{};
    SPANSORT_CUDA(cudaFuncGetAttributes(&code, kernel));
    line.registers = static_cast<unsigned>(code.numRegs);
    line.spilled_bytes = static_cast<unsigned>(code.localSizeBytes);
    if (!line.fits) return line;
    SPANSORT_CUDA(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared_bytes)));
    int blocks_each = 0;
    SPANSORT_CUDA(
        cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks_each, kernel, static_cast<int>(threads), shared_bytes));
    line.blocks_each = static_cast<unsigned>(blocks_each);
    line.fits = blocks_each != 0;
    if (!line.fits) return line;
    const auto num_tiles = static_cast<unsigned>((n_ + tile_keys - 1) / tile_keys);
    const cuda::event_handle begin = cuda::make_cuda_event(cudaEventDefault);
    const cuda::event_handle end = cuda::make_cuda_event(cudaEventDefault);
    for (unsigned i = 0; i < s_.repeats + 1; ++i) {
      prepare();
      SPANSORT_CUDA(cudaEventRecord(begin.get()));
      kernel<<<num_tiles, threads, shared_bytes>>>(cuda::identity_order<K>({}), a);
      cuda::check_done(cudaGetLastError(), "partition");
      SPANSORT_CUDA(cudaEventRecord(end.get()));
      SPANSORT_CUDA(cudaEventSynchronize(end.get()));
      float ms = 0;
      SPANSORT_CUDA(cudaEventElapsedTime(&ms, begin.get(), end.get()));
      if (i != 0) line.runs_ms.push_back(ms);  // the first one warms up
    }
    line.is_right = is_right();
    return line;
  }

  void prepare() {
    SPANSORT_CUDA(cudaMemset(states_.get(), 0, states_bytes()));
    targets_kernel<<<1, swept_buckets>>>(static_cast<const std::uint64_t*>(counts_.get()), static_cast<K*>(keys_.get()),
                                         static_cast<V*>(values_.get()),
                                         static_cast<cuda::bucket_target*>(targets_.get()));
    cuda::check_done(cudaGetLastError(), "targets_kernel");
  }

  [[nodiscard]] bool is_right() {
    SPANSORT_CUDA(cudaMemset(sums_.get(), 0, 16));
    check_kernel<<<1024, 256>>>(s_.seed, n_, static_cast<const K*>(keys_.get()), static_cast<const V*>(values_.get()),
                                static_cast<std::uint64_t*>(sums_.get()));
    cuda::check_done(cudaGetLastError(), "check_kernel");
    std::array<std::uint64_t, 2> sums{1, 1};
    SPANSORT_CUDA(cudaMemcpy(sums.data(), sums_.get(), 16, cudaMemcpyDeviceToHost));
    SPANSORT_CUDA(
        cudaMemset(keys_.get(), 0, n_ * sizeof(K)));  // so that no later run is credited with this one's output
    return sums[0] == 0 && sums[1] == 0;
  }

  sweep_settings s_;
  std::uint64_t n_;
  cuda::kernel_family family_ = cuda::family_of(cuda::compiled_for());
  unsigned most_shared_bytes_ = 0;
  cuda::device_memory source_keys_;
  cuda::device_memory source_values_;
  cuda::device_memory keys_;
  cuda::device_memory values_;
  cuda::device_memory counts_;
  cuda::device_memory targets_;
  cuda::device_memory states_;
  cuda::device_memory sums_;
};

template <class K, class V>
std::vector<sweep_line> sweep_ordered(const sweep_settings& s) {
  static constexpr auto list = ordered_candidates(sizeof(K), cuda::value_bytes_of<V>);
  partition_race<K, V> race(s);
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    std::vector<sweep_line> lines;
    (race.template run_ordered<list.items[I]>(lines), ...);
    return lines;
  }
  (std::make_index_sequence<list.count>());
}

template <class K>
std::vector<sweep_line> sweep_unordered(const sweep_settings& s) {
  static constexpr auto list = unordered_candidates(sizeof(K));
  partition_race<K, cuda::no_value> race(s);
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    std::vector<sweep_line> lines;
    (race.template run_unordered<list.items[I]>(lines), ...);
    return lines;
  }
  (std::make_index_sequence<list.count>());
}

template <class K>
std::vector<sweep> partition_sweeps() {
  return {{"partition in any order", sizeof(K), 0, sweep_unordered<K>},
          {"partition", sizeof(K), 0, sweep_ordered<K, cuda::no_value>},
          {"partition", sizeof(K), 4, sweep_ordered<K, cuda::value4>},
          {"partition", sizeof(K), 8, sweep_ordered<K, cuda::value8>},
          {"partition", sizeof(K), 16, sweep_ordered<K, cuda::value16>}};
}

}  // namespace bench::tune
