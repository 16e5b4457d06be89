// SPDX-License-Identifier: Apache-2.0
// What the host hands to the kernels, and where they keep what passes from one to the next. Included by host and device
// code; the launchers are instantiated per key width in launch_u8.cu ... launch_u64.cu.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "device/cuda/tuning/kernel_family.hpp"
#include "device/cuda/tuning/workspace_sizes.hpp"
#include "device/device.hpp"
#include "keys/codec.hpp"
#include "keys/digit.hpp"

namespace spansort::device::cuda {

/// Where the next records of a bucket go. Values are null where none travel.
struct bucket_target {
  void* keys = nullptr;
  void* values = nullptr;
};

/// Bits that the fingerprint sets: what has been seen of neighbours.
enum order_seen : std::uint32_t { seen_descent = 1, seen_ascent = 2, seen_equal = 4 };

/// What a local sort does about its segment. Decided and obeyed on the device: the host does not wait.
enum class remedy : std::uint32_t { passes, keep, reverse };

/// Device memory that a queue's kernels work in; requests of a queue run one after the other and share it. What a local
/// sort clears before it starts lies together.
struct kernel_workspace {
  std::uint64_t* counts = nullptr;       ///< [counts_capacity], of histogram requests
  bucket_target* targets = nullptr;      ///< [max_digits_together][2][max_partition_buckets]: of a portion, of the next
  std::uint32_t* order = nullptr;        ///< order_seen bits
  remedy* decision = nullptr;            ///< of the running local sort
  std::uint64_t* sort_counts = nullptr;  ///< [max_digits_together][max_partition_buckets], of a local sort
  std::uint32_t* tile_counters = nullptr;  ///< [max_digits_together]: next tile of each partition
  std::uint32_t* tile_states = nullptr;    ///< [tile_capacity][max_partition_buckets]
  std::uint64_t tile_capacity = 0;         ///< a longer input is taken in equal portions of at most so many tiles

  static constexpr std::uint64_t counts_capacity = workspace_counts;
  static constexpr std::uint64_t counts_bytes = 8 * counts_capacity;
  static constexpr std::uint64_t targets_bytes =
      sizeof(bucket_target) * max_digits_together * 2 * max_partition_buckets;
  static constexpr std::uint64_t sort_counts_bytes = std::uint64_t{8} * max_digits_together * max_partition_buckets;
  static constexpr std::uint64_t control_bytes = 256;
  static constexpr std::uint64_t tile_state_bytes = std::uint64_t{4} * max_partition_buckets;
  static constexpr std::uint64_t fixed_bytes = counts_bytes + targets_bytes + 2 * control_bytes + sort_counts_bytes;
  static constexpr std::uint64_t size_bytes = fixed_bytes + workspace_tiles * tile_state_bytes;
  /// From sort_counts up to the states.
  static constexpr std::uint64_t cleared_bytes = sort_counts_bytes + control_bytes;

  /// In `bytes` of memory, more than fixed_bytes.
  [[nodiscard]] static kernel_workspace in(void* memory, std::uint64_t bytes = size_bytes) noexcept {
    auto* at = static_cast<char*>(memory);
    kernel_workspace w;
    w.tile_capacity = (bytes - fixed_bytes) / tile_state_bytes;
    w.counts = reinterpret_cast<std::uint64_t*>(at);
    w.targets = reinterpret_cast<bucket_target*>(at += counts_bytes);
    w.order = reinterpret_cast<std::uint32_t*>(at += targets_bytes);
    w.decision = reinterpret_cast<remedy*>(w.order + 1);
    w.sort_counts = reinterpret_cast<std::uint64_t*>(at += control_bytes);
    w.tile_counters = reinterpret_cast<std::uint32_t*>(at += sort_counts_bytes);
    w.tile_states = reinterpret_cast<std::uint32_t*>(at + control_bytes);
    return w;
  }
};

/// Keys and values that CUB's sort is compiled for here; its kernels take long to compile.
[[nodiscard]] constexpr bool has_cub_sort(unsigned key_bytes, unsigned value_bytes) noexcept {
  return key_bytes >= 4 && value_bytes <= 8;
}

/// Partitions that a local sort over `bits` takes.
[[nodiscard]] constexpr unsigned num_local_sort_passes(keys::bit_range bits) noexcept {
  return (bits.size() + max_partition_bits - 1) / max_partition_bits;
}

/// A stream to launch on, with what launchers need to know of its device.
struct launch_site {
  cudaStream_t stream = nullptr;
  unsigned num_multiprocessors = 1;
  kernel_family family = kernel_family::hopper;  ///< the sizes that the code it runs was compiled with
  void* cub_memory = nullptr;                    ///< [cub_scratch_bytes]: CUB's kernels sort; null: ours
  kernel_workspace memory;
};

/// What the code was compiled for that the current device runs. A newer GPU may run intermediate code for an older one, and
/// that has the older one's sizes; so the GPU's own compute capability does not tell which sizes a launch needs.
[[nodiscard]] compute_capability compiled_for();

/// On the current device, which is the stream's; without memory.
[[nodiscard]] launch_site make_launch_site(cudaStream_t stream);

/// Adds digits' counts into `counts` (device memory, zeroed before): places one after the other.
template <class K>
void launch_histogram(const launch_site& site, const keys::codec_of<K>& codec, const void* keys, std::uint64_t num_keys,
                      const keys::digit_position* digits, unsigned num_digits, std::uint64_t* counts);

/// Sets order_seen bits in `site.memory.order`; stops reading once ascent and descent are both seen.
template <class K>
void launch_fingerprint(const launch_site& site, const keys::codec_of<K>& codec, const void* keys,
                        std::uint64_t num_keys);

/// What the kernel that counts between splitters is given.
template <class K>
struct interval_arguments {
  const K* keys = nullptr;
  std::uint64_t num_keys = 0;
  unsigned num_splitters = 0;
  unsigned first_step = 0;  ///< of the search among the splitters: the highest power of two among their numbers
  std::uint64_t marked = 0;
  K* collected = nullptr;
  std::uint64_t capacity = 0;
  std::uint64_t* counts = nullptr;         ///< device memory, zeroed before: num_splitters + 1
  std::uint64_t* num_collected = nullptr;  ///< the same: one
  K splitters[max_splitters] = {};
};

/// Adds to `counts` (device memory, zeroed before: the intervals' counts, then the number of keys collected).
template <class K>
void launch_count_intervals(const launch_site& site, const keys::codec_of<K>& codec, const interval_request& request,
                            std::uint64_t* counts);

/// Stable partition to destinations[0 .. digit.num_buckets()).
template <class K>
void launch_partition(const launch_site& site, const keys::codec_of<K>& codec, const partition_request& request);

/// Stable sort of one segment of the request, in num_local_sort_passes(). `adaptive`: looks for order first, which pays
/// where segments are few and large.
template <class K>
void launch_local_sort(const launch_site& site, const keys::codec_of<K>& codec, const local_sort_request& request,
                       const sort_segment& segment, bool adaptive);

template <class K>
void launch_swap_mirrored(const launch_site& site, const swap_mirrored_request& request);

}  // namespace spansort::device::cuda
