// SPDX-License-Identifier: Apache-2.0
#include "support/guarded_array.hpp"

#include <algorithm>

namespace spansort::test {
namespace {

constexpr std::uint64_t red_zone_bytes = 192;

/// Position-dependent, so that a shifted copy of a red zone shows too.
std::byte red_zone_byte(std::uint64_t position) { return static_cast<std::byte>(0xa5 ^ (position * 29)); }

}  // namespace

guarded_array::guarded_array(std::uint64_t size_bytes, std::uint64_t misalignment_bytes)
    : storage_(size_bytes + 2 * red_zone_bytes + 64 + misalignment_bytes), size_bytes_(size_bytes) {
  const auto address = reinterpret_cast<std::uintptr_t>(storage_.data()) + red_zone_bytes;
  begin_ = red_zone_bytes + (64 - address % 64) % 64 + misalignment_bytes;
  for (std::uint64_t i = 0; i < begin_; ++i) storage_[i] = red_zone_byte(i);
  for (std::uint64_t i = begin_ + size_bytes_; i < storage_.size(); ++i) storage_[i] = red_zone_byte(i);
}

guarded_array::guarded_array(std::span<const std::byte> contents, std::uint64_t misalignment_bytes)
    : guarded_array(contents.size(), misalignment_bytes) {
  std::copy(contents.begin(), contents.end(), data());
}

std::string guarded_array::corruption() const {
  for (std::uint64_t i = 0; i < begin_; ++i) {
    if (storage_[i] != red_zone_byte(i)) return "byte " + std::to_string(begin_ - i) + " before the array was written";
  }
  const std::uint64_t end = begin_ + size_bytes_;
  for (std::uint64_t i = end; i < storage_.size(); ++i) {
    if (storage_[i] != red_zone_byte(i)) return "byte " + std::to_string(i - end) + " behind the array was written";
  }
  return "";
}

}  // namespace spansort::test
