// SPDX-License-Identifier: Apache-2.0
// The MSD hybrid sort as the host enqueues it. Instantiated per key width in msd_u32.cu and msd_u64.cu; the
// levels alone also in msd_u8.cu and msd_u16.cu.
#pragma once

#include "device/cuda/kernels/msd_memory.hpp"
#include "device/cuda/kernels/request.hpp"

namespace spansort::device::cuda {

/// Whole keys of one array are sorted into one of two arrays.
struct msd_request {
  record_shape shape;
  records sides[2];  ///< the input is in the first
  std::uint32_t num_keys = 0;
  unsigned num_bits = 0;  ///< of the encoded key, counted from the lowest; all keys agree above them
  unsigned result_side = 0;
  msd_beginning beginning;
  const order_action* decision = nullptr;  ///< of those in order: null, or nothing is done unless it is passes
  /// Keys of 8 bytes may be in order by their buckets of a spread, and not by their own highest bits.
  key_spread spread = {};
  const std::uint32_t* any_folded = nullptr;  ///< as in partition_step
  void* memory = nullptr;                     ///< msd_memory_bytes() of device memory
};

/// Returns the device memory that a sort of so many records takes.
[[nodiscard]] std::uint64_t msd_memory_bytes(const record_shape& shape, std::uint64_t num_keys,
                                             const msd_beginning& beginning = {});

/// Puts the sort on the site's stream. The host waits for nothing.
template <class K>
void launch_msd_hybrid(const launch_site& site, const msd_request& request);

/// Levels of partitions alone, over large buckets that are in the memory already: what they make small are jobs of the
/// finish, which is the caller's.
struct msd_levels_request {
  record_shape shape;
  records sides[2];            ///< the buckets of the first level are in the first, where results are wanted
  std::uint32_t num_keys = 0;  ///< no less than all large buckets have together
  msd_limits limits;
  msd_memory memory;
  bool are_ready = false;  ///< else the buckets of the first level are only listed (launch_msd_ready())
};

/// Makes the listed buckets of the first level ready: says of each tile which bucket it is of, and zeroes counts and
/// states.
void launch_msd_ready(const launch_site& site, const msd_memory& memory, const msd_limits& limits);

template <class K>
void launch_msd_levels(const launch_site& site, const msd_levels_request& request);

}  // namespace spansort::device::cuda
