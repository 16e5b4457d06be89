// SPDX-License-Identifier: Apache-2.0
// This header says what the machine offers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "spansort/cxx20.hpp"

namespace spansort {

struct device_description {
  std::string name;   ///< "host:0"
  std::string model;  ///< "AMD EPYC 7763"; of a GPU that cannot be used, why
  unsigned num_threads = 0;
  std::uint64_t memory_bytes = 0;     ///< of the device
  std::uint64_t available_bytes = 0;  ///< now
  int numa_node = -1;                 ///< -1: one node, or unknown
  std::string vector_target = {};     ///< "AVX2", "AVX-512" ...
};

/// What was found when one GPU used the memory of another.
struct link_description {
  std::string from;            ///< "gpu:0": whose kernels and copies
  std::string to;              ///< "gpu:1": whose memory
  bool works = false;          ///< every way of access gave the right data; else sorts go through host memory
  std::string why_not;         ///< "" when it works
  double gigabytes_per_s = 0;  ///< of copies in this direction alone
};

/// Tries out every ordered pair of GPUs, once a process: some ten ms a pair. Empty with fewer than two.
[[nodiscard]] std::vector<link_description> list_links();

/// Devices that can sort on this machine: one host device per NUMA node, then the GPUs.
[[nodiscard]] std::vector<device_description> list_devices();

/// Processors that this process may use: those that it may be scheduled on, cut to the quotas of its container (control
/// groups, rounded up). As many threads a call takes unless its option `threads` says otherwise.
[[nodiscard]] unsigned num_processors();

/// Returns why no GPU can be used, "" when one can.
[[nodiscard]] std::string why_no_gpu();

/// {"num_processors": N, "devices": [...], "links": [...], "gpu": "..."}
[[nodiscard]] std::string devices_json();

}  // namespace spansort
