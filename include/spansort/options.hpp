// SPDX-License-Identifier: Apache-2.0
// Options of a sort. Plain aggregates, made for designated initialisers:
//   spansort::sort(keys, {.descending = true, .devices = "cpu:4"});
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "spansort/cxx20.hpp"

namespace spansort {

struct sort_report;

/// How far a sort is. Called on the calling thread, about ten times a second and between phases.
struct progress {
  std::string_view phase;
  double fraction = 0;  ///< 0 to 1, never falling
};

/// Return false to cancel, or throw, which cancels too and surfaces from the sort. A cancelled sort throws `cancelled`
/// and leaves the input untouched; once the input is being overwritten a sort can no longer be cancelled: false is
/// ignored, and an exception surfaces when the sort is done.
using progress_callback = std::function<bool(const progress&)>;

/// Parameters of the pipeline. Users leave them alone; tests shrink the world with them, so that a thousand keys reach
/// every branch. 0 means the default.
struct tuning_options {
  unsigned radix_bits = 0;     ///< digit width of a multi-device pass, 1 to 12 (0: as the devices advise, by size)
  double epsilon = -1;         ///< slack at each end of a chunk, as its fraction (default 0.005; negative: default)
  double fuse_threshold = -1;  ///< buckets under this fraction of a chunk are fused (negative: as the devices advise)
  std::uint64_t host_inline_keys = 0;  ///< inputs up to this size are sorted on the calling thread
  std::uint64_t host_bucket_bytes =
      0;                              ///< buckets that a host device sorts in cache: wanted size, an eighth of the most
  unsigned host_radix_bits = 0;       ///< digit width of a host device's own partition, 1 to 12
  std::uint64_t host_tile_keys = 0;   ///< keys that one host task counts or partitions at a time
  bool host_separate_memory = false;  ///< host devices pretend to have memory of their own: copies in and out
  std::uint64_t copy_piece_bytes = 0;  ///< copied at a time to and from devices with memory of their own
  std::uint64_t device_chunk_keys =
      0;                            ///< out_of_core: records that a device sorts at a time, fewer where they do not fit
  bool damage_peer_probes = false;  ///< the try-out of GPUs' links finds a wrong bit, a GPU's own memory included
  bool cub_local_sort = false;      ///< GPUs' local sorts by CUB: keys of 4 and 8 bytes, values up to 8, no float pairs
  bool exchange_through_host = false;      ///< as if no device reached another's memory
  std::uint64_t several_devices_keys = 0;  ///< from this many keys on `auto` uses all devices of the list
  std::uint64_t file_chunk_elements =
      0;  ///< sorts of files larger than memory: elements that one run or range holds at a time
  std::uint64_t file_block_elements = 0;  ///< elements that are spilled, checked and read at a time
  unsigned file_fan_in = 0;               ///< runs merged at a time, at least 2
  bool damage_result = false;             ///< sort_file and argsort_file flip a bit of the result before they verify it
  std::uint64_t fail_allocation_at = 0;   ///< 1: the first workspace allocation fails, 2: the second ... 0: none
  /// 1: the first call of a sort to its GPUs' runtime fails without being made, 2: the second ... 0: none. Sorts that
  /// run beside it may meet the fault in its place.
  std::uint64_t fail_device_call_at = 0;
  int fail_device_call_with = 0;  ///< that failure's number at the runtime; 0: its unknown error
};

/// Which algorithm sorts. Those known here are named constants; parse_algorithm() finds every one by name, and nothing
/// else makes one: an algorithm that is not there cannot be asked for.
class algorithm {
 public:
  static const algorithm automatic;    ///< "auto": what is fastest for the input and the devices
  static const algorithm single;       ///< "single": one device's own sort
  static const algorithm rmg;          ///< "rmg": radix partitioning over all devices, and one exchange between them
  static const algorithm out_of_core;  ///< "out_of_core": in parts, for data larger than the devices' memory

  constexpr algorithm() noexcept = default;  ///< automatic
  friend constexpr bool operator==(algorithm a, algorithm b) noexcept { return a.name_ == b.name_; }
  friend constexpr std::string_view name(algorithm a) noexcept { return a.name_; }

 private:
  friend algorithm parse_algorithm(std::string_view text);
  friend std::vector<algorithm> list_algorithms();
  explicit constexpr algorithm(std::string_view name) noexcept : name_(name) {}

  std::string_view name_ = "auto";  ///< in memory that lasts as long as the program
};
inline constexpr algorithm algorithm::automatic{};
inline constexpr algorithm algorithm::single{"single"};
inline constexpr algorithm algorithm::rmg{"rmg"};
inline constexpr algorithm algorithm::out_of_core{"out_of_core"};

/// The inverse of name(). Throws invalid_argument for anything else, listing what is known.
[[nodiscard]] algorithm parse_algorithm(std::string_view text);

/// All of them, "auto" first.
[[nodiscard]] std::vector<algorithm> list_algorithms();

/// Returns what an algorithm does, in a few words for a help text.
[[nodiscard]] std::string_view description(algorithm which);

/// A source of workspace on GPUs instead of the runtime's own allocator: a pool of the caller's, say. It is called by
/// one thread of a sorter at a time, with the GPU current.
class gpu_memory_resource {
 public:
  virtual ~gpu_memory_resource() = default;
  /// `size_bytes` of memory of GPU `ordinal`, aligned to 256 bytes and usable on any stream at once; null where there
  /// is none, which the sort reports as out_of_memory. In a list of several GPUs the others must reach it too: memory
  /// of cudaMalloc is, that of a pool where its access has been set.
  [[nodiscard]] virtual void* allocate(int ordinal, std::uint64_t size_bytes) = 0;
  /// Nothing is at work on it any more.
  virtual void deallocate(int ordinal, void* memory, std::uint64_t size_bytes) noexcept = 0;
};

struct sort_options {
  bool descending = false;
  /// "auto", "cpu", "cpu:4" (four host devices), "gpu", "gpu:0,1,2,3"; a list may repeat a device.
  std::string devices = "auto";
  spansort::algorithm algorithm = spansort::algorithm::automatic;
  /// Ceiling on workspace beside the caller's arrays, all devices. 0: what the machine has.
  std::uint64_t memory_limit_bytes = 0;
  /// Ceiling on workspace on each device of the list, the threads' scratch of CPU devices included. `auto` sorts what
  /// needs more in parts (`out_of_core`); single and rmg throw out_of_memory. 0: what the device has.
  std::uint64_t device_memory_bytes = 0;
  progress_callback on_progress = {};
  sort_report* report = nullptr;
  /// Outlives the sorter. Null: the runtime's allocator. Small buffers that are pinned for copies do not come from
  /// here.
  gpu_memory_resource* gpu_memory = nullptr;
  tuning_options tuning = {};
};

}  // namespace spansort
