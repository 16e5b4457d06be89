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

/// The machine without its GPUs, as far as this process may use it.
struct host_description {
  std::string model;                  ///< "AMD EPYC 7763"
  std::string vector_target;          ///< what sorts on the CPU use: "AVX-512", "AVX2", "SSE4", "NEON" ...
  unsigned num_cores = 0;             ///< 0: unknown
  unsigned num_hardware_threads = 0;  ///< of these cores; 0: unknown
  unsigned num_processors = 0;        ///< as num_processors()
  unsigned num_numa_nodes = 1;        ///< each is a host device of list_devices(), which says its memory
  std::uint64_t memory_bytes = 0;     ///< of these nodes together
  std::uint64_t available_bytes = 0;  ///< now, to this process
};
[[nodiscard]] host_description describe_host();

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

/// Returns why no GPU can be used, "" when one can: that there is no NVIDIA driver, the driver's own error, that this
/// build has no GPU backend.
[[nodiscard]] std::string why_no_gpu();

/// {"num_processors": N, "host": {...}, "devices": [...], "links": [...], "gpu": "..."}
[[nodiscard]] std::string devices_json();

}  // namespace spansort
