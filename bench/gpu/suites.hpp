// SPDX-License-Identifier: Apache-2.0
// The suites: each a list of cases, put behind those that are there.
#pragma once

#include <memory>
#include <vector>

#include "bench/gpu/case_runner.hpp"
#include "bench/gpu/host_arrays.hpp"
#include "bench/gpu/settings.hpp"

namespace bench {

/// Shared by the suites of host memory; freed with the last of their cases.
using shared_arrays = std::shared_ptr<host_arrays>;
using case_list = std::vector<bench_case>;

/// One GPU's local sort next to CUB's, data resident.
void add_local_cases(const settings& s, case_list& cases);
/// Adds sorts of all sizes and kinds of records on one GPU next to CUB's, data resident.
void add_size_cases(const settings& s, case_list& cases);
/// Adds sorts from host memory to host memory, next to the bare copies.
void add_host_cases(const settings& s, const shared_arrays& arrays, case_list& cases);
/// Data on the GPUs.
void add_resident_cases(const settings& s, case_list& cases);
/// Adds sorts of every distribution from host to host over all GPUs, next to the uniform input.
void add_distribution_cases(const settings& s, const shared_arrays& arrays, case_list& cases);
/// Adds sorts from host to host whose report tells which device did what when.
void add_breakdown_cases(const settings& s, const shared_arrays& arrays, case_list& cases);
/// Inputs of four times what the GPUs may hold.
void add_larger_cases(const settings& s, const shared_arrays& arrays, case_list& cases);
/// Adds drawn sorts on one GPU, of which every result is compared with CUB's.
void add_random_cases(const settings& s, case_list& cases);
/// Adds sorts so small that launch gaps and the trip to the GPU rule.
void add_small_cases(const settings& s, case_list& cases);

/// Adds sorts of many segments on one GPU next to both of CUB's, data resident.
void add_segment_cases(const settings& s, case_list& cases);

}  // namespace bench
