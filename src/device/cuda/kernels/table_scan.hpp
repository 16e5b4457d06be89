// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace spansort::device::cuda {

/// Turns each of `num_entries` counts in device memory into the sum of those before it. `temporary` is device memory of
/// table_scan_bytes(num_entries). One read and one write of the table.
void launch_table_scan(cudaStream_t stream, std::uint64_t* table, std::uint64_t num_entries, void* temporary);

}  // namespace spansort::device::cuda
