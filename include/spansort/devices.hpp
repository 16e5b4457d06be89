// SPDX-License-Identifier: Apache-2.0
// What the machine offers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace spansort {

struct device_description {
  std::string name;   ///< "cpu:0"
  std::string model;  ///< "AMD EPYC 7763"
  unsigned num_threads = 0;
  std::uint64_t memory_bytes = 0;     ///< of the device
  std::uint64_t available_bytes = 0;  ///< now
  int numa_node = -1;                 ///< -1: one node, or unknown
  std::string vector_target;          ///< "AVX2", "AVX-512" ...
};

/// Devices that can sort on this machine: one host device per NUMA node, then the GPUs.
[[nodiscard]] std::vector<device_description> list_devices();

/// Why no GPU can be used, "" when one can.
[[nodiscard]] std::string why_no_gpu();

/// {"devices": [...], "gpu": "..."}
[[nodiscard]] std::string devices_json();

}  // namespace spansort
