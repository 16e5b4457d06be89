// SPDX-License-Identifier: Apache-2.0
#include "device/host/host_memory.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include "base/available_memory.hpp"
#include "base/math.hpp"
#include "device/host/topology.hpp"
#include "spansort/errors.hpp"

namespace spansort::device::host {
namespace {

constexpr std::uint64_t page_bytes = 4096;
constexpr std::uint64_t huge_page_bytes = std::uint64_t{1} << 21;
/// An allocation smaller than this costs less than asking the kernel what is available.
constexpr std::uint64_t worth_asking_bytes = std::uint64_t{64} << 20;

/// Small mappings are rounded to pages, large ones to huge pages.
std::uint64_t mapped_bytes(std::uint64_t size_bytes) {
  return base::round_up(size_bytes, size_bytes >= huge_page_bytes ? huge_page_bytes : page_bytes);
}

[[noreturn]] void throw_out_of_memory(std::uint64_t needed, std::uint64_t available) {
  throw out_of_memory(
      fmt::format("workspace does not fit in memory: {} bytes needed, {} bytes available", needed, available), needed,
      available);
}

}  // namespace

void* map_memory(std::uint64_t size_bytes, int numa_node) {
  if (size_bytes >= worth_asking_bytes) {
    const std::uint64_t available = base::available_memory_bytes();
    if (size_bytes > available) throw_out_of_memory(size_bytes, available);
  }
  const std::uint64_t bytes = mapped_bytes(size_bytes);
  const bool huge = bytes >= huge_page_bytes;
  // Mapped with room to spare, then trimmed to where a huge page begins.
  const std::uint64_t spare = huge ? huge_page_bytes : 0;
  void* const mapped =
      mmap(nullptr, bytes + spare, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) throw_out_of_memory(size_bytes, base::available_memory_bytes());
  if (!huge) return mapped;
  char* const begin = static_cast<char*>(mapped);
  const std::uint64_t address = reinterpret_cast<std::uintptr_t>(begin);
  const std::uint64_t head = base::round_up(address, huge_page_bytes) - address;
  if (head != 0) munmap(begin, head);
  if (spare > head) munmap(begin + head + bytes, spare - head);
  madvise(begin + head, bytes, MADV_HUGEPAGE);
  if (numa_node >= 0) bind_memory_to_node(begin + head, bytes, numa_node);
  return begin + head;
}

void unmap_memory(void* data, std::uint64_t size_bytes) noexcept { munmap(data, mapped_bytes(size_bytes)); }

bool make_reclaimable(void* data, std::uint64_t size_bytes) noexcept {
  return madvise(data, mapped_bytes(size_bytes), MADV_FREE) == 0;
}

bool seems_resident(void* data, std::uint64_t size_bytes) noexcept {
  constexpr std::uint64_t num_samples = 64;
  const std::uint64_t num_pages = base::ceil_div(size_bytes, page_bytes);
  for (std::uint64_t s = 0; s < num_samples; ++s) {
    unsigned char is_there = 0;
    char* const page = static_cast<char*>(data) + s * num_pages / num_samples * page_bytes;
    if (mincore(page, page_bytes, &is_there) != 0 || (is_there & 1) == 0) return false;
  }
  return true;
}

}  // namespace spansort::device::host
