// SPDX-License-Identifier: Apache-2.0
// Large host allocations: mapped, on huge pages where the kernel gives them, on the device's NUMA node.
#pragma once

#include <cstdint>

namespace spansort::device::host {

/// Throws out_of_memory with needed and available bytes. `numa_node` -1: anywhere. `size_bytes` > 0.
[[nodiscard]] void* map_memory(std::uint64_t size_bytes, int numa_node);
void unmap_memory(void* data, std::uint64_t size_bytes) noexcept;

/// Lets the kernel take memory whose contents nobody wants any more, page by page, when it runs short. What it
/// leaves alone is there without a page fault when it is written again. Returns false, with nothing done, where
/// memory is locked or the kernel is too old.
[[nodiscard]] bool make_reclaimable(void* data, std::uint64_t size_bytes) noexcept;

/// Returns whether each of 64 pages from all over such memory is there, as nearly all are then.
[[nodiscard]] bool seems_resident(void* data, std::uint64_t size_bytes) noexcept;

}  // namespace spansort::device::host
