// SPDX-License-Identifier: Apache-2.0
// The floor of a sort from host memory to host memory that copies everything in and then everything out: those copies
// alone, all GPUs at once.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <vector>

namespace bench {

struct copy_times {
  std::vector<double> in_runs_ms;   ///< host to GPUs
  std::vector<double> out_runs_ms;  ///< GPUs to host
  /// Returns the median of in plus out of a run.
  [[nodiscard]] double median_ms() const;
  [[nodiscard]] nlohmann::ordered_json to_json() const;
};

/// Copies `size_bytes` at `host` in equal chunks to the GPUs and back to where they came from; the bytes stay the same.
/// Pinned memory: cudaMemcpyAsync, one stream a GPU. One run more warms up.
[[nodiscard]] copy_times time_pinned_copies(const std::vector<int>& devices, void* host, std::uint64_t size_bytes,
                                            unsigned repeats);

/// Times the same copies of pageable memory, where the calling thread makes such a copy: cudaMemcpy, one thread a GPU.
[[nodiscard]] copy_times time_pageable_copies(const std::vector<int>& devices, void* host, std::uint64_t size_bytes,
                                              unsigned repeats);

}  // namespace bench
