// SPDX-License-Identifier: Apache-2.0
// Counter-based random numbers: every word is a hash of (seed, draw, index), so any split of the indices over threads
// gives the same keys. The hash is SplitMix64's output function over its own Weyl sequence (Steele, Lea, Flood 2014);
// each draw of an index has a sequence of its own.
#pragma once

#include <cstdint>

namespace spansort::generation {

/// A bijection of 64 bits in which every input bit reaches every output bit.
[[nodiscard]] constexpr std::uint64_t mix(std::uint64_t x) noexcept {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/// One sequence of random words, addressed by index.
class random_stream {
 public:
  constexpr random_stream(std::uint64_t seed, std::uint64_t draw) noexcept : start_(mix(mix(seed) + draw)) {}

  [[nodiscard]] constexpr std::uint64_t operator()(std::uint64_t index) const noexcept {
    return mix(start_ + (index + 1) * 0x9e3779b97f4a7c15u);
  }

 private:
  std::uint64_t start_;
};

/// Uniform in [0, 1), a multiple of 2^-53.
[[nodiscard]] constexpr double to_unit(std::uint64_t word) noexcept {
  return static_cast<double>(word >> 11) * 0x1p-53;
}

/// Uniform in [0, bound), bound up to 2^64. Off from uniform by less than bound / 2^64.
[[nodiscard]] constexpr std::uint64_t to_range(std::uint64_t word, unsigned __int128 bound) noexcept {
  const auto low = static_cast<std::uint64_t>(bound);
  if (bound > low) return word;  // 2^64 itself
  return static_cast<std::uint64_t>((static_cast<unsigned __int128>(word) * low) >> 64);
}

}  // namespace spansort::generation
