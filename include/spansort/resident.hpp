// SPDX-License-Identifier: Apache-2.0
// Sorts of data that is on the devices already. The functions have the names that they have for host memory: the type
// of the argument, sharded_keys, says where the data lies. No CUDA header is needed: memory and streams are passed as
// void*.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "spansort/options.hpp"
#include "spansort/types.hpp"

namespace spansort {

/// One device's part of the data. Its keys and values are memory of that device; with several GPUs from cudaMalloc, for
/// the others store into it: memory of pools and of virtual address ranges does not follow the peer access that a sort
/// enables (and leaves enabled).
struct shard {
  void* keys = nullptr;
  void* values = nullptr;      ///< sort_pairs alone; null where no values travel
  std::uint64_t num_keys = 0;  ///< held before the call; set to what it holds afterwards
  std::uint64_t capacity = 0;  ///< keys (and values) that there is room for; 0: num_keys
  /// A cudaStream_t of the device, null for its default stream: the sort begins when its work so far is done, and what
  /// is put on it after the call finds the result. Devices of host memory ignore it.
  void* stream = nullptr;
};

/// Keys of one type, in shards on several devices: all of shard 0, then all of shard 1, and so on.
struct sharded_keys {
  key_type type;
  std::span<shard> shards;
};

/// Keys like those of sharded_keys, to be read only. `values` and `capacity` of the shards are not looked at.
struct const_sharded_keys {
  key_type type;
  std::span<const shard> shards;

  const_sharded_keys(key_type t, std::span<const shard> s) : type(t), shards(s) {}
  const_sharded_keys(const sharded_keys& keys) : type(keys.type), shards(keys.shards) {}
};

namespace detail {
struct resident_access;
}

/// How many keys each shard holds afterwards.
enum class shard_sizes : std::uint8_t {
  as_given,  ///< as many as before: exact cuts
  balanced   ///< an equal share, give or take tuning.epsilon at each end; needs that capacity
};

/// Sorts shards over the devices of the list in `options`, one shard a device in the list's order. Keeps devices,
/// streams and workspace from call to call. Not safe for concurrent use.
class resident_sorter {
 public:
  /// Opens the devices. Throws invalid_argument or device_error.
  explicit resident_sorter(sort_options options);
  ~resident_sorter();
  resident_sorter(resident_sorter&&) noexcept;
  resident_sorter& operator=(resident_sorter&&) noexcept;

  /// Sorts all keys together: afterwards shard 0 holds the smallest, in order, and so on; what lies behind num_keys in
  /// a shard is undefined. RMG sort (BTW 2023, section 3) without its copies; one device: its local sort. Blocks until
  /// the result is there. Workspace: as many records as each shard may hold before or after, 1 % more where several
  /// keep their sizes and no limit is set, and 34 MiB a GPU; on one GPU without report, progress and limits on memory
  /// what enqueue.hpp states, and for keys of 8 bytes from 64 MiB on 1.5 bytes a record besides where there is room.
  /// Throws invalid_argument, out_of_memory, std::bad_alloc and device_error before anything is touched; device_error
  /// and cancelled also later, and then the shards' contents are lost.
  void sort(sharded_keys keys, direction d = direction::ascending, shard_sizes sizes = shard_sizes::as_given);
  /// Sorts pairs as sort() sorts keys, stable, with values of 4, 8 or 16 bytes.
  void sort_pairs(sharded_keys keys, std::uint64_t value_bytes, direction d = direction::ascending,
                  shard_sizes sizes = shard_sizes::as_given);
  /// Writes the stable order of all keys. `indices` are as many arrays as shards: array i lies in the memory of device
  /// i, and has room for as many indices of 4 or 8 bytes as shard i has keys. Afterwards the arrays, one after the
  /// other, name the keys' places among the keys of all shards, which count from 0 in shard 0. Keys are not changed.
  /// Blocks.
  /// Workspace: for n keys of k bytes with indices of v bytes n * (2 * k + v) on their devices, and 34 MiB a GPU; on
  /// one GPU without report, progress and limits on memory what enqueue.hpp states. For keys of 8 bytes on one GPU,
  /// from 64 MiB on with their indices, 1.5 bytes a record besides where there is room and no limit on memory. Such
  /// limits count the copy of the keys.
  /// Throws invalid_argument, out_of_memory, device_error and cancelled; the contents of the indices are then
  /// unspecified.
  void argsort(const_sharded_keys keys, std::span<void* const> indices, std::uint64_t index_bytes,
               direction d = direction::ascending);
  /// Returns whether all keys are in order, shard after shard: in value order, -0.0 equal to +0.0, NaN keys last and
  /// equal. One read by all devices, which begins when what is on the shards' streams is done. Blocks. Takes 34 MiB a
  /// GPU. Throws invalid_argument, device_error and out_of_memory.
  [[nodiscard]] bool is_sorted(const_sharded_keys keys, direction d = direction::ascending);

 private:
  friend struct detail::resident_access;
  struct state;
  std::unique_ptr<state> state_;
};

/// Sorts shards as resident_sorter::sort() does, with devices opened for this call and closed after it. Whoever sorts
/// more than once keeps a resident_sorter.
///     spansort::sort({spansort::key_type::f32, shards}, {.devices = "gpu:0,1"});
void sort(sharded_keys keys, direction d, const sort_options& options, shard_sizes sizes = shard_sizes::as_given);
void sort(sharded_keys keys, const sort_options& options, shard_sizes sizes = shard_sizes::as_given);

/// Sorts pairs of shards as resident_sorter::sort_pairs() does.
void sort_pairs(sharded_keys keys, std::uint64_t value_bytes, direction d, const sort_options& options,
                shard_sizes sizes = shard_sizes::as_given);
void sort_pairs(sharded_keys keys, std::uint64_t value_bytes, const sort_options& options,
                shard_sizes sizes = shard_sizes::as_given);

/// Writes the stable order of shards as resident_sorter::argsort() does, with devices opened for this call.
///     void* const order[] = {order0, order1};  // memory of GPU 0 and of GPU 1
///     spansort::argsort({spansort::key_type::f32, shards}, order, sizeof(std::uint32_t), {.devices = "gpu:0,1"});
void argsort(const_sharded_keys keys, std::span<void* const> indices, std::uint64_t index_bytes, direction d,
             const sort_options& options);
void argsort(const_sharded_keys keys, std::span<void* const> indices, std::uint64_t index_bytes,
             const sort_options& options);

/// Returns whether shards are in order as resident_sorter::is_sorted() does, with devices opened for this call.
[[nodiscard]] bool is_sorted(const_sharded_keys keys, direction d, const sort_options& options);
[[nodiscard]] bool is_sorted(const_sharded_keys keys, const sort_options& options);

}  // namespace spansort
