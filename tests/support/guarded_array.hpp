// SPDX-License-Identifier: Apache-2.0
// An array with red zones on both sides: a write outside shows even without a sanitizer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace spansort::test {

class guarded_array {
 public:
  /// `misalignment_bytes` past a multiple of 64.
  explicit guarded_array(std::uint64_t size_bytes, std::uint64_t misalignment_bytes = 0);
  guarded_array(std::span<const std::byte> contents, std::uint64_t misalignment_bytes);

  [[nodiscard]] std::byte* data() { return storage_.data() + begin_; }
  [[nodiscard]] std::span<std::byte> bytes() { return {data(), size_bytes_}; }
  [[nodiscard]] std::span<const std::byte> bytes() const { return {storage_.data() + begin_, size_bytes_}; }

  /// "" while the red zones are whole; otherwise which byte outside was written.
  [[nodiscard]] std::string corruption() const;

 private:
  std::vector<std::byte> storage_;
  std::uint64_t begin_;
  std::uint64_t size_bytes_;
};

}  // namespace spansort::test
