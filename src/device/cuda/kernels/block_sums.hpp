// SPDX-License-Identifier: Apache-2.0
// The kernel of sum_blocks.
#pragma once

#include <cstdint>

#include "device/block_sums.hpp"
#include "device/cuda/kernels/request.hpp"
#include "spansort/types.hpp"

namespace spansort::device::cuda {

/// Overwrites `sums` in device memory: one sum for every sum_block_keys keys. The last block may be shorter.
void launch_block_sums(const launch_site& site, key_type type, const void* keys, std::uint64_t num_keys,
                       block_sum* sums);

}  // namespace spansort::device::cuda
