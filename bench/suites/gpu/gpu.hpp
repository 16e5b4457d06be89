// SPDX-License-Identifier: Apache-2.0
// This is all that the suites do with GPUs. A build without the GPU backend has absent.cpp in place of the rest of this
// folder.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <spansort/options.hpp>
#include <string>
#include <vector>

#include "bench/suites/candidate.hpp"

namespace bench {

/// Returns whether this is a build without the GPU backend.
[[nodiscard]] bool gpu_is_absent();

/// Host memory that is pinned for copies. Throws out_of_memory or device_error.
[[nodiscard]] host_memory allocate_pinned(std::uint64_t size_bytes);

/// Sorts `data` on a GPU, where it lies already. Throws device_error, invalid_argument, out_of_memory.
[[nodiscard]] contender resident_contender(const spansort::sort_options& options, int ordinal, input& data);

/// CUB and Thrust on one GPU, data resident.
[[nodiscard]] std::vector<candidate> gpu_baselines(int ordinal);

/// Returns driver, runtime and CUB, null in a build without the GPU backend.
[[nodiscard]] nlohmann::ordered_json gpu_software();

}  // namespace bench
