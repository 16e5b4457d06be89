// SPDX-License-Identifier: Apache-2.0
// The bytes of a fuzzer's input as numbers, zeros behind the end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace spansort::fuzz {

class byte_reader {
 public:
  byte_reader(const std::uint8_t* data, std::size_t size) : bytes_(data, size) {}

  [[nodiscard]] bool is_empty() const { return bytes_.empty(); }
  [[nodiscard]] std::uint64_t number(unsigned num_bytes = 1) {
    std::uint64_t value = 0;
    for (; num_bytes != 0 && !bytes_.empty(); --num_bytes) {
      value = value << 8 | bytes_.front();
      bytes_ = bytes_.subspan(1);
    }
    return value;
  }
  [[nodiscard]] std::uint64_t below(std::uint64_t bound, unsigned num_bytes = 1) { return number(num_bytes) % bound; }
  [[nodiscard]] std::span<const std::uint8_t> rest() const { return bytes_; }

 private:
  std::span<const std::uint8_t> bytes_;
};

}  // namespace spansort::fuzz
