// SPDX-License-Identifier: Apache-2.0
// A level digit is what a level of the host sort partitions by: some bits of the encoded key, or a window of encoded
// keys cut into equal parts. The window serves keys that crowd into a small part of their range (floats of one
// magnitude, integers around an offset), where the same number of buckets then splits the crowd and not the void around
// it.
#pragma once

#include <algorithm>
#include <cstdint>

#include "keys/digit.hpp"

namespace spansort::device::host {

/// `bits` bits of the encoded key from `shift` up.
template <class K>
struct bit_digit {
  unsigned shift = 0;
  unsigned bits = 0;

  bit_digit() = default;
  explicit bit_digit(keys::digit_position d) : shift(d.shift), bits(d.bits) {}
  [[nodiscard]] std::uint64_t num_buckets() const noexcept { return std::uint64_t{1} << bits; }
  [[nodiscard]] std::size_t of(K encoded) const noexcept {
    return static_cast<K>(encoded >> shift) & static_cast<K>(base::low_mask(bits));
  }
};

/// Encoded keys from `base` on in steps of 2^shift; what lies below falls into the first bucket, what lies above into
/// the last. `base` is a multiple of 2^shift, so all keys of a bucket between share the bits from `shift` up.
template <class K>
struct window_digit {
  unsigned shift = 0;
  unsigned bits = 0;
  K base = 0;

  [[nodiscard]] std::uint64_t num_buckets() const noexcept { return std::uint64_t{1} << bits; }
  [[nodiscard]] std::size_t of(K encoded) const noexcept {
    const K above = encoded > base ? static_cast<K>(encoded - base) : K{0};
    return std::min<std::size_t>(static_cast<K>(above >> shift), num_buckets() - 1);
  }
};

/// The digit of one level.
template <class K>
struct level_digit {
  bit_digit<K> bits;
  window_digit<K> window;
  bool is_window = false;

  [[nodiscard]] unsigned shift() const noexcept { return is_window ? window.shift : bits.shift; }
  [[nodiscard]] std::uint64_t num_buckets() const noexcept {
    return is_window ? window.num_buckets() : bits.num_buckets();
  }
  /// Returns whether the keys of a bucket share the bits from shift() up.
  [[nodiscard]] bool is_exact(std::uint64_t bucket) const noexcept {
    return !is_window || (bucket != 0 && bucket != num_buckets() - 1);
  }

  /// Calls f with the digit in its own type. Narrow keys have no windows: their digits reach all the way down.
  template <class F>
  void visit(const F& f) const {
    if constexpr (sizeof(K) >= 4) {
      if (is_window) return f(window);
    }
    f(bits);
  }
};

}  // namespace spansort::device::host
