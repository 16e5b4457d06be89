// SPDX-License-Identifier: Apache-2.0
// Uninitialised memory for the bytes of a file: grows without copying where the system can move pages, and asks for
// large pages, which halves the time of the first touch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>

namespace spansort::base {

class byte_buffer {
 public:
  byte_buffer() = default;
  /// Throws out_of_memory.
  explicit byte_buffer(std::uint64_t size_bytes) { resize(size_bytes); }

  /// New bytes are uninitialised. Throws out_of_memory; the contents are then as before.
  void resize(std::uint64_t size_bytes);
  /// Makes room for at least `size_bytes` bytes. The contents are lost where it has to grow, for they need not both
  /// fit. Throws out_of_memory; the buffer is then empty.
  void make_room(std::uint64_t size_bytes) {
    if (size_bytes_ >= size_bytes) return;
    *this = byte_buffer();
    resize(size_bytes);
  }

  [[nodiscard]] std::byte* data() noexcept { return data_.get(); }
  [[nodiscard]] const std::byte* data() const noexcept { return data_.get(); }
  [[nodiscard]] std::uint64_t size() const noexcept { return size_bytes_; }
  [[nodiscard]] std::span<std::byte> bytes() noexcept { return {data_.get(), size_bytes_}; }
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return {data_.get(), size_bytes_}; }

 private:
  struct releaser {
    void operator()(std::byte* p) const noexcept { std::free(p); }
  };
  std::unique_ptr<std::byte, releaser> data_;
  std::uint64_t size_bytes_ = 0;
};

}  // namespace spansort::base
