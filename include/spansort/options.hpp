// SPDX-License-Identifier: Apache-2.0
// Options of a sort. Plain aggregates, made for designated initialisers, which C++ wants in the order of declaration:
//   spansort::sort(keys, spansort::direction::descending, {.devices = "gpu:0,1", .memory_limit_bytes = 1 << 30});
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "spansort/cxx20.hpp"
#include "spansort/device_list.hpp"

namespace spansort {

struct sort_report;

/// How far a sort is. Called on the calling thread, about ten times a second and between phases.
struct progress {
  std::string_view phase;
  double fraction = 0;  ///< 0 to 1, never falling
};

/// Return false to cancel, or throw, which cancels too and surfaces from the sort. A cancelled sort throws `cancelled`
/// and leaves the input untouched; once the input is being overwritten a sort can no longer be cancelled: false is
/// ignored, and an exception surfaces when the sort is done. One exception stops a sort even then: `abandoned` of
/// abandon.hpp.
using progress_callback = std::function<bool(const progress&)>;

/// Parameters of the partitioning over several devices (RMG sort, section 3), for those who study it. Everybody else
/// leaves them alone.
struct tuning_options {
  /// Digit width of a pass over several devices, 1 to 12; 0: by size, as the devices advise. Also the widest digit of
  /// `onesweep` (1 to 9) and `lsd_reduce_then_scan` (1 to 12 on the CPU, 1 to 9 on GPUs).
  unsigned radix_bits = 0;
  /// Slack at each end of a device's chunk, as its fraction: a bucket that fits with it is not refined. Negative:
  /// 0.005.
  double epsilon = -1;
  double fuse_threshold = -1;  ///< buckets under this fraction of a chunk are fused; negative: as the devices advise
};

/// An algorithm that sorts. Those known here are named constants; parse_algorithm() finds every one by name, and
/// nothing else makes one: an algorithm that is not there cannot be asked for.
class algorithm {
 public:
  static const algorithm automatic;    ///< "auto": what is fastest for the input and the devices
  static const algorithm single;       ///< "single": one device's own sort
  static const algorithm rmg;          ///< "rmg": radix partitioning over all devices, and one exchange between them
  static const algorithm out_of_core;  ///< "out_of_core": in parts, for data larger than the devices' memory
  static const algorithm p2p_merge;    ///< "p2p_merge": sorted chunks, merged by swaps between 1, 2, 4, 8, ... devices
  static const algorithm het_merge;    ///< "het_merge": chunks sorted by the devices, merged by the CPU
  // Published sorts of one device, to compare with: `single` by that local sort. `automatic` takes none of them, and a
  // device that has not got one refuses it with the reason. Beside the memory that sort.hpp states, n records take:
  // satish_radix n / 8 bytes (n / 6 + 64 KiB on GPUs) and satish_merge n / 16, for whole tiles of 1,024 and 256
  // records; lsd_reduce_then_scan 9 MiB on GPUs; msd_hybrid up to 3 * n / 2 on GPUs. paradis sorts in place: it takes
  // 8 * n for pairs and argsort, and nothing for keys alone.
  static const algorithm onesweep;              ///< "onesweep": GPUs
  static const algorithm lsd_reduce_then_scan;  ///< "lsd_reduce_then_scan": CPU and GPUs
  static const algorithm satish_radix;          ///< "satish_radix": CPU and GPUs
  static const algorithm satish_merge;          ///< "satish_merge": CPU and GPUs
  static const algorithm msd_hybrid;            ///< "msd_hybrid": CPU and GPUs
  static const algorithm paradis;               ///< "paradis": CPU

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
inline constexpr algorithm algorithm::p2p_merge{"p2p_merge"};
inline constexpr algorithm algorithm::het_merge{"het_merge"};
inline constexpr algorithm algorithm::onesweep{"onesweep"};
inline constexpr algorithm algorithm::lsd_reduce_then_scan{"lsd_reduce_then_scan"};
inline constexpr algorithm algorithm::satish_radix{"satish_radix"};
inline constexpr algorithm algorithm::satish_merge{"satish_merge"};
inline constexpr algorithm algorithm::msd_hybrid{"msd_hybrid"};
inline constexpr algorithm algorithm::paradis{"paradis"};

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
  /// Returns `size_bytes` of memory of GPU `ordinal`, aligned to 256 bytes; null where there is none, which the sort
  /// reports as out_of_memory. `stream` is the CUDA stream, a cudaStream_t, that the memory is used on: that of the
  /// only shard of a resident sort on one GPU. So a pool may give memory in the order of that stream, as
  /// cudaMallocAsync does. In every other case it is null, and the memory must be usable on any stream at once. In a
  /// list of several GPUs the others must reach it too: memory of cudaMalloc is, that of a pool where its access has
  /// been set.
  [[nodiscard]] virtual void* allocate(int ordinal, std::uint64_t size_bytes, void* stream) = 0;
  /// Nothing is at work on the memory any more, on any stream.
  virtual void deallocate(int ordinal, void* memory, std::uint64_t size_bytes) noexcept = 0;
};

struct sort_options {
  /// "auto", "cpu", "host:4" (four host devices), "gpu", "gpu:0,1,2,3"; a list may repeat a device.
  device_list devices = {};
  /// Threads that compute on the host for a call, 1 to 1024; its host devices share them, at least one each. 0, or
  /// more than the process may use processors, by its affinity and the quotas of its container: as many as those.
  unsigned threads = 0;
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
