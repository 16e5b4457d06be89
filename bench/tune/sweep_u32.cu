// SPDX-License-Identifier: Apache-2.0
#include "bench/tune/partition_sweep.cuh"

template std::vector<bench::tune::sweep> bench::tune::partition_sweeps<std::uint32_t>();
