// SPDX-License-Identifier: Apache-2.0
// Keys of the caller on devices, as order statistics read them: where they lie, or copied into memory of devices that
// have their own.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "algorithms/rank.hpp"
#include "sort/gpu_devices.hpp"
#include "sort/open_devices.hpp"
#include "spansort/options.hpp"
#include "spansort/resident.hpp"
#include "spansort/types.hpp"
#include "statistics/select.hpp"

namespace spansort::statistics {

/// Members are destroyed last to first: memory before its devices, those before the call ends.
struct key_storage {
  key_type type = key_type::u64;
  std::unique_ptr<sorting::gpu_call> call;
  std::vector<algorithms::rank> ranks;
  std::vector<device::buffer> copies;  ///< of chunks that were copied in
  std::vector<key_chunk> chunks;
  const void* host_keys = nullptr;  ///< all keys in host memory; null where they are resident on devices
  std::uint64_t num_keys = 0;
};

/// Keys in host memory, in equal chunks over the devices of a list. "auto" is the CPU: a GPU reads keys faster than the
/// link brings them, and the CPU reads host memory faster than the link does. Throws
/// out_of_memory naming the bytes where a device cannot hold its chunk.
[[nodiscard]] key_storage spread_keys(const_key_span keys, const device_list& devices, unsigned threads,
                                      const base::test_hooks& hooks);

/// Spreads keys in host memory over ranks that are open already and outlive the storage.
[[nodiscard]] key_storage spread_keys(const_key_span keys, const std::vector<algorithms::rank>& ranks);

/// Keys that are on the devices of a list already, where they are; the work on the shards' streams comes first. Throws
/// invalid_argument for shards that are not the devices'.
[[nodiscard]] key_storage resident_keys(const_sharded_keys keys, const device_list& devices, unsigned threads,
                                        const base::test_hooks& hooks);

/// Shards on the devices that a sorter holds open, which outlives the storage. Throws invalid_argument also where
/// `asked` names other devices than the sorter's.
[[nodiscard]] key_storage resident_keys(const_sharded_keys keys, const device_list& asked, resident_sorter& sorter);

}  // namespace spansort::statistics
