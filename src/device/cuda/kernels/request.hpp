// SPDX-License-Identifier: Apache-2.0
// A request is what the host hands to the kernels, and the memory in which they keep what passes from one to the next.
// Host and device code include it; the launchers are instantiated per key width in launch_u8.cu ... launch_u64.cu.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <vector>

#include "device/cuda/kernels/key_spread.hpp"
#include "device/cuda/tuning/kernel_family.hpp"
#include "device/cuda/tuning/workspace_sizes.hpp"
#include "device/device.hpp"
#include "keys/codec.hpp"
#include "keys/digit.hpp"

namespace spansort::device::cuda {

/// The position where the next records of a bucket go. Values are null where none travel.
struct bucket_target {
  void* keys = nullptr;
  void* values = nullptr;
};

/// Bits that the fingerprint sets for what it has seen of neighbouring keys.
enum order_seen : std::uint32_t { seen_descent = 1, seen_ascent = 2, seen_equal = 4 };

/// An action says what a local sort does with its segment. A kernel decides, and later kernels obey, so that the host
/// need not wait.
/// `counts` is for the kernels of a way by which the records do not go, of two that were launched.
enum class order_action : std::uint32_t { passes, keep, reverse, counts };

/// A kernel that is given a condition works only where the decision asks for it. Without a decision it always works.
struct order_condition {
  const order_action* decision = nullptr;
  order_action wanted = order_action::passes;
};

/// Device memory that a queue's kernels work in. A queue runs its requests one after the other, so they share it. What
/// a local sort clears before it starts lies together.
struct kernel_workspace {
  std::uint64_t* counts = nullptr;     ///< [counts_capacity], of histogram requests, looks that turn keys, or a spread
  bucket_target* targets = nullptr;    ///< [max_digits_together][2][max_partition_buckets]: of a portion and the next
  std::uint32_t* order = nullptr;      ///< order_seen bits
  order_action* decision = nullptr;    ///< of the running local sort
  std::uint32_t* is_hinted = nullptr;  ///< not 0: a sample of the running local sort's keys was in opposite order
  order_action* ways = nullptr;        ///< [2]: of two ways of the running local sort, the one that is passes is taken
  std::uint64_t* sort_counts = nullptr;    ///< [max_digits_together][max_partition_buckets], of a local sort
  std::uint32_t* tile_counters = nullptr;  ///< [max_digits_together]: the next tile of each partition; one more behind
  std::uint32_t* any_folded = nullptr;     ///< not 0: folding ties changes a key of the running local sort
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
  /// This much is cleared at least: everything from sort_counts up to the states.
  static constexpr std::uint64_t cleared_bytes = sort_counts_bytes + control_bytes;

  /// Lays a workspace out in `bytes` of memory, which are more than fixed_bytes.
  [[nodiscard]] static kernel_workspace in(void* memory, std::uint64_t bytes = size_bytes) noexcept {
    auto* at = static_cast<char*>(memory);
    kernel_workspace w;
    w.tile_capacity = (bytes - fixed_bytes) / tile_state_bytes;
    w.counts = reinterpret_cast<std::uint64_t*>(at);
    w.targets = reinterpret_cast<bucket_target*>(at += counts_bytes);
    w.order = reinterpret_cast<std::uint32_t*>(at += targets_bytes);
    w.decision = reinterpret_cast<order_action*>(w.order + 1);
    w.is_hinted = w.order + 2;
    w.ways = reinterpret_cast<order_action*>(w.order + 4);
    w.sort_counts = reinterpret_cast<std::uint64_t*>(at += control_bytes);
    w.tile_counters = reinterpret_cast<std::uint32_t*>(at += sort_counts_bytes);
    static_assert((max_digits_together + 2) * sizeof(std::uint32_t) <= control_bytes);
    w.any_folded = w.tile_counters + max_digits_together + 1;
    w.tile_states = reinterpret_cast<std::uint32_t*>(at + control_bytes);
    return w;
  }
};

/// Partitions that a local sort over `bits` takes.
[[nodiscard]] constexpr unsigned num_local_sort_passes(keys::bit_range bits) noexcept {
  return (bits.size() + max_partition_bits - 1) / max_partition_bits;
}

/// A stream to launch on, with what launchers need to know of its device.
struct launch_site {
  cudaStream_t stream = nullptr;
  unsigned num_multiprocessors = 1;
  compute_capability code;  ///< what the code was compiled for that the device runs
  kernel_workspace memory;

  /// The sizes that the code was compiled with.
  [[nodiscard]] kernel_family family() const noexcept { return family_of(code); }
};

/// Returns what the code was compiled for that the current device runs. A newer GPU may run intermediate code for an
/// older one, and that has the older one's sizes; so the GPU's own compute capability does not tell which sizes a
/// launch needs.
[[nodiscard]] compute_capability compiled_for();

/// Returns a site on the current device, which must be the stream's, without memory.
[[nodiscard]] launch_site make_launch_site(cudaStream_t stream);

/// Returns whether a site has been made in this process, which starts the runtime on its device.
[[nodiscard]] bool has_launch_sites() noexcept;

/// Adds the digits' counts to `counts`, one digit after the other. `counts` is device memory that was zeroed before.
/// Nothing is counted where there is a decision in device memory and it is not order_action::passes. Digits of keys of
/// 8 bytes that have a spread are those of the order by it (kernels/spread_order.cuh). `any_folded` is null, or device
/// memory that was zeroed before: 1 is written there where the codec folds ties and that changes a key.
template <class K>
void launch_histogram(const launch_site& site, const keys::codec_of<K>& codec, const void* keys, std::uint64_t num_keys,
                      const keys::digit_position* digits, unsigned num_digits, std::uint64_t* counts,
                      const order_action* decision = nullptr, const key_spread& spread = {},
                      std::uint32_t* any_folded = nullptr);

/// Sets order_seen bits in `site.memory.order`. It stops reading once ascent and descent are both seen.
template <class K>
void launch_fingerprint(const launch_site& site, const keys::codec_of<K>& codec, const void* keys,
                        std::uint64_t num_keys);

/// What a local sort allows its look for order.
struct look_manner {
  bool may_reverse = false;     ///< the keys may be reversed
  bool equal_may_turn = false;  ///< reversing equal keys changes nothing that shows
  /// This points to the same keys where they may be overwritten and are sorted where they lie: keys that a sample finds
  /// in opposite order are turned while they are looked at. Null: they are only read.
  void* turned_keys = nullptr;
};

/// Sets order_seen bits as launch_fingerprint does, and writes what they mean for a local sort of at least 2 keys to
/// `site.memory.decision`.
template <class K>
void launch_look(const launch_site& site, const keys::codec_of<K>& codec, const void* keys, std::uint64_t num_keys,
                 const look_manner& manner);

/// What the kernel that counts between splitters is given.
template <class K>
struct interval_arguments {
  const K* keys = nullptr;
  std::uint64_t num_keys = 0;
  unsigned num_splitters = 0;
  unsigned first_step = 0;  ///< of the search among the splitters: the highest power of two up to their number
  std::uint64_t marked = 0;
  K* collected = nullptr;
  std::uint64_t capacity = 0;
  std::uint64_t* counts = nullptr;         ///< device memory, zeroed before: num_splitters + 1
  std::uint64_t* num_collected = nullptr;  ///< device memory, zeroed before: one count
  K splitters[max_splitters] = {};
};

/// Adds to `counts` the intervals' counts, then the number of keys collected. `counts` is device memory that was zeroed
/// before.
template <class K>
void launch_count_intervals(const launch_site& site, const keys::codec_of<K>& codec, const interval_request& request,
                            std::uint64_t* counts);

/// Stable partition to destinations[0 .. digit.num_buckets()).
template <class K>
void launch_partition(const launch_site& site, const keys::codec_of<K>& codec, const partition_request& request);

/// What a partition of keys alone does to keys that need an encoding.
enum class key_recoding : std::uint8_t {
  none,
  encodes,  ///< keys are stored encoded
  decodes   ///< keys are found encoded, and stored as they were
};

/// One partition whose targets are in device memory already.
struct partition_step {
  records source;
  std::uint64_t num_keys = 0;
  keys::digit_position digit;
  bucket_target* targets = nullptr;         ///< [2][max_partition_buckets]; the first half is filled
  const order_action* decision = nullptr;   ///< null, or nothing is done unless it is order_action::passes
  std::uint32_t* tile_counter = nullptr;    ///< one of the workspace's
  std::uint32_t* cleared_states = nullptr;  ///< states for all tiles, cleared with the counter; null: cleared as needed
  /// Keys of a bucket may come in any order. That shows where values travel or ties are folded; there it is ignored.
  bool any_order = false;
  /// The source has no values: they are the positions 0, 1, 2, ... of 4 or 8 bytes. Keys are stored encoded.
  bool begins_argsort = false;
  key_recoding recoding = key_recoding::none;  ///< only without values, with a codec that loses nothing
  bool drops_keys = false;                     ///< with values: keys are not stored
  key_spread spread = {};                      ///< of keys of 8 bytes: the digit is one of the order by it
  /// Null, or device memory that is 0 where folding ties changes no key (launch_histogram()): such keys take less time.
  /// Steps of an argsort do not look at it.
  const std::uint32_t* any_folded = nullptr;
};
template <class K>
void launch_partition_step(const launch_site& site, const keys::codec_of<K>& codec, unsigned value_bytes,
                           const partition_step& step);

/// Returns whether launch_partition_step() takes such keys in any order where it may.
template <class K>
[[nodiscard]] bool has_unordered_partition(const keys::codec_of<K>& codec, unsigned value_bytes) {
  return value_bytes == 0 && !codec.folds_ties;
}

/// Returns the number of tiles in which a partition takes `num_keys` records.
template <class K>
[[nodiscard]] std::uint64_t num_partition_tiles(const launch_site& site, unsigned value_bytes, std::uint64_t num_keys);

/// Fills `site.memory.targets` for passes over `digits` from the counts in `site.memory.sort_counts`. The passes go
/// from `source` to `alternate` and back.
template <class K>
void launch_bucket_targets(const launch_site& site, unsigned value_bytes,
                           const std::vector<keys::digit_position>& digits, records source, records alternate);

/// Copies records where the condition holds.
template <class K>
void launch_copy(const launch_site& site, unsigned value_bytes, order_condition when, records to, records from,
                 std::uint64_t count);
/// Copies records in opposite order where the condition holds. `to` may be `from`.
template <class K>
void launch_reverse(const launch_site& site, unsigned value_bytes, order_condition when, records to, records from,
                    std::uint64_t count);

template <class K>
void launch_swap_mirrored(const launch_site& site, const swap_mirrored_request& request);

}  // namespace spansort::device::cuda
