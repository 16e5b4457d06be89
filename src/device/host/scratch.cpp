// SPDX-License-Identifier: Apache-2.0
#include "device/host/scratch.hpp"

#include <sys/mman.h>

#include <cstdlib>
#include <new>

#include "base/math.hpp"

namespace spansort::device::host {

void* allocate_pages(std::uint64_t size_bytes) {
  constexpr std::uint64_t page_bytes = 4096;
  constexpr std::uint64_t huge_page_bytes = std::uint64_t{1} << 21;
  const bool is_huge = size_bytes >= 2 * huge_page_bytes;
  const std::uint64_t alignment = is_huge ? huge_page_bytes : page_bytes;
  void* const data = std::aligned_alloc(alignment, base::round_up(size_bytes, alignment));
  if (data == nullptr) throw std::bad_alloc();
  // The memory behind the last whole huge page keeps small ones: the kernel would clear 2 MiB for a line.
  if (is_huge) ::madvise(data, size_bytes / huge_page_bytes * huge_page_bytes, MADV_HUGEPAGE);
  return data;
}

}  // namespace spansort::device::host
