// SPDX-License-Identifier: Apache-2.0
// The hash behind the multiset checksum: two lanes of 64 bits, each a chain of finalisers with constants of its own,
// fed with the element's words. Sums of it over a multiset do not depend on the order, and a value that moves to
// another key changes both terms it touches.
#pragma once

#include <cstdint>
#include <cstring>

#include "spansort/check.hpp"

namespace spansort::checking {

/// Hash of one element under construction, and the sum of finished ones.
struct hash_pair {
  std::uint64_t first = 0x243f6a8885a308d3u;   // pi
  std::uint64_t second = 0xb7e151628aed2a6bu;  // e

  /// MurmurHash3's finaliser on one lane, SplitMix64's on the other: both are bijections of the lane.
  constexpr void absorb(std::uint64_t word) noexcept {
    std::uint64_t a = first ^ word;
    a = (a ^ (a >> 33)) * 0xff51afd7ed558ccdu;
    a = (a ^ (a >> 33)) * 0xc4ceb9fe1a85ec53u;
    first = a ^ (a >> 33);
    std::uint64_t b = second + word * 0x9e3779b97f4a7c15u;
    b = (b ^ (b >> 30)) * 0xbf58476d1ce4e5b9u;
    b = (b ^ (b >> 27)) * 0x94d049bb133111ebu;
    second = b ^ (b >> 31);
  }

  /// Words of 8 bytes, the last one filled up with zeros: all elements of a multiset have the same size.
  void absorb_bytes(const unsigned char* bytes, std::uint64_t size_bytes) noexcept {
    for (; size_bytes >= 8; bytes += 8, size_bytes -= 8) {
      std::uint64_t word;
      std::memcpy(&word, bytes, 8);
      absorb(word);
    }
    if (size_bytes == 0) return;
    std::uint64_t word = 0;
    std::memcpy(&word, bytes, size_bytes);
    absorb(word);
  }
};

constexpr void add(multiset_checksum& sum, const hash_pair& hash) noexcept {
  sum.words[0] += hash.first;
  sum.words[1] += hash.second;
}

}  // namespace spansort::checking
