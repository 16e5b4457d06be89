// SPDX-License-Identifier: Apache-2.0
// This header says what this machine has: processors, NUMA nodes, memory, a cache; and binding threads and memory to
// nodes.
#pragma once

#include <cstdint>
#include <string>

namespace spansort::device::host {

/// Processors that this process may use.
[[nodiscard]] unsigned num_processors();
/// Cores, and the hardware threads that they have together, that this process may be scheduled on; 0 where hwloc does
/// not know.
[[nodiscard]] unsigned num_cores();
[[nodiscard]] unsigned num_hardware_threads();
/// NUMA nodes with processors that this process may use; at least 1.
[[nodiscard]] unsigned num_numa_nodes();
[[nodiscard]] std::string processor_model();

/// Returns the size of the third-level cache that some processors share; 0 where the system does not say.
[[nodiscard]] std::uint64_t last_level_cache_bytes();

/// Returns the memory of a node, or of the machine where `node` is -1.
[[nodiscard]] std::uint64_t total_memory_bytes(int node);

/// Best effort: a machine that does not allow binding works unbound.
void bind_thread_to_node(int node) noexcept;
void unbind_thread() noexcept;
void bind_memory_to_node(void* data, std::uint64_t size_bytes, int node) noexcept;

}  // namespace spansort::device::host
