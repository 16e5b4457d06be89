// SPDX-License-Identifier: Apache-2.0
#include "base/byte_buffer.hpp"

#include <sys/mman.h>

#include <fmt/format.h>

#include <limits>

#include "base/available_memory.hpp"
#include "spansort/errors.hpp"

namespace spansort::base {
namespace {

constexpr std::uintptr_t large_page_bytes = std::uintptr_t{2} << 20;

// Only whole large pages inside the block are advised; a refusal costs nothing but speed.
void advise_large_pages(std::byte* data, std::uint64_t size_bytes) noexcept {
  const auto begin = reinterpret_cast<std::uintptr_t>(data);
  const std::uintptr_t first = (begin + large_page_bytes - 1) & ~(large_page_bytes - 1);
  const std::uintptr_t last = (begin + size_bytes) & ~(large_page_bytes - 1);
  if (last > first) ::madvise(data + (first - begin), last - first, MADV_HUGEPAGE);
}

}  // namespace

void byte_buffer::resize(std::uint64_t size_bytes) {
  void* moved = nullptr;
  if (size_bytes < static_cast<std::uint64_t>(std::numeric_limits<std::ptrdiff_t>::max())) {
    moved = std::realloc(data_.get(), size_bytes == 0 ? 1 : size_bytes);
  }
  if (moved == nullptr) {
    const std::uint64_t available = available_memory_bytes();
    throw out_of_memory(
        fmt::format("out of memory: {} bytes are needed at once, {} are available", size_bytes, available), size_bytes,
        available);
  }
  static_cast<void>(data_.release());
  data_.reset(static_cast<std::byte*>(moved));
  size_bytes_ = size_bytes;
  advise_large_pages(data_.get(), size_bytes_);
}

}  // namespace spansort::base
