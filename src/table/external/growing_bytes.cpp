// SPDX-License-Identifier: Apache-2.0
#include "table/external/growing_bytes.hpp"

#include <sys/mman.h>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/available_memory.hpp"
#include "base/math.hpp"
#include "spansort/errors.hpp"

namespace spansort::table {
namespace {

constexpr std::uint64_t page_bytes = 4096;

}  // namespace

growing_bytes::growing_bytes(growing_bytes&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_bytes_(std::exchange(other.size_bytes_, 0)),
      capacity_bytes_(std::exchange(other.capacity_bytes_, 0)) {}

growing_bytes& growing_bytes::operator=(growing_bytes&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_bytes_, other.size_bytes_);
  std::swap(capacity_bytes_, other.capacity_bytes_);
  return *this;
}

void growing_bytes::reserve(std::uint64_t num_bytes) {
  if (data_ != nullptr && num_bytes <= capacity_bytes_) return;
  const std::uint64_t capacity = base::round_up(std::max<std::uint64_t>(num_bytes, 1), page_bytes);
  void* const moved = data_ == nullptr
                          ? ::mmap(nullptr, capacity, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                          : ::mremap(data_, capacity_bytes_, capacity, MREMAP_MAYMOVE);
  if (moved == MAP_FAILED) {
    const std::uint64_t available = base::available_memory_bytes();
    throw out_of_memory(
        fmt::format("out of memory: {} bytes are needed at once, {} are available", capacity, available), capacity,
        available);
  }
  data_ = static_cast<std::byte*>(moved);
  capacity_bytes_ = capacity;
}

std::byte* growing_bytes::extend(std::uint64_t num_bytes) {
  const std::uint64_t size_bytes = size_bytes_ + num_bytes;
  // Pages that nothing is written to take no memory, so that room for more costs none.
  if (size_bytes > capacity_bytes_) reserve(std::max(size_bytes, size_bytes_ + size_bytes_ / 2));
  return data_ + std::exchange(size_bytes_, size_bytes);
}

void growing_bytes::release() noexcept {
  if (data_ != nullptr) ::munmap(data_, capacity_bytes_);
  data_ = nullptr;
  size_bytes_ = capacity_bytes_ = 0;
}

}  // namespace spansort::table
