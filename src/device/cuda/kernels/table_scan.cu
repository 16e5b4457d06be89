// SPDX-License-Identifier: Apache-2.0
// The scan of the tables of counts of reduce-then-scan sorts, by CUB.
#include "device/cuda/kernels/table_scan.hpp"

#include <cub/device/device_scan.cuh>

#include "base/math.hpp"
#include "device/cuda/cuda_error.hpp"
#include "device/cuda/tuning/published_sorts_policy.hpp"

namespace spansort::device::cuda {

void launch_table_scan(cudaStream_t stream, std::uint64_t* table, std::uint64_t num_entries, void* temporary) {
  if (num_entries == 0) return;
  std::size_t bytes = table_scan_bytes(num_entries);
  // Older CUB counts by int. A table of 2^31 entries is that of 2^37 records, which no GPU holds.
  const int count = base::checked_cast<int>(num_entries);
  SPANSORT_CUDA(cub::DeviceScan::ExclusiveSum(temporary, bytes, table, table, count, stream));
}

}  // namespace spansort::device::cuda
