// SPDX-License-Identifier: Apache-2.0
// Bytes that grow at their end, in pages of their own: the system moves these rather than copies them when they grow,
// and has them back at once when they go, which the C library's memory does not promise.
#pragma once

#include <cstddef>
#include <cstdint>

namespace spansort::table {

class growing_bytes {
 public:
  growing_bytes() = default;
  growing_bytes(growing_bytes&& other) noexcept;
  growing_bytes& operator=(growing_bytes&& other) noexcept;
  ~growing_bytes() { release(); }

  /// Returns where `num_bytes` more begin, which are not initialised. Throws out_of_memory; all is then as before.
  std::byte* extend(std::uint64_t num_bytes);
  /// Makes room for so many bytes in all, and for one page at least. Throws out_of_memory.
  void reserve(std::uint64_t num_bytes);
  /// Keeps the memory for the next bytes.
  void clear() noexcept { size_bytes_ = 0; }
  /// Gives the memory back.
  void release() noexcept;

  [[nodiscard]] std::byte* data() noexcept { return data_; }
  [[nodiscard]] const std::byte* data() const noexcept { return data_; }
  [[nodiscard]] std::uint64_t size() const noexcept { return size_bytes_; }

 private:
  std::byte* data_ = nullptr;
  std::uint64_t size_bytes_ = 0;
  std::uint64_t capacity_bytes_ = 0;
};

}  // namespace spansort::table
