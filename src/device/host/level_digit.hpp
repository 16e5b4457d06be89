// SPDX-License-Identifier: Apache-2.0
// A level digit is what a level of the host sort partitions by: some bits of the encoded key, or a window of encoded
// keys cut into equal parts. The window serves keys that crowd into a small part of their range (floats of one
// magnitude, integers around an offset), where the same number of buckets then splits the crowd and not the void around
// it.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

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

/// Classes between splitters, which a tree in breadth-first order holds from index 1 on. Serves keys that crowd at
/// several places, whose samples are cut into equal parts: each class has about as many keys as the others, or keys of
/// one value.
template <class K>
struct splitter_digit {
  unsigned shift = 0;  ///< classes need not share any bits
  unsigned bits = 0;
  const K* tree = nullptr;

  [[nodiscard]] std::uint64_t num_buckets() const noexcept { return std::uint64_t{1} << bits; }
  [[nodiscard]] std::size_t of(K encoded) const noexcept {
    std::size_t node = 1;
    for (unsigned b = 0; b < bits; ++b) node = 2 * node + (tree[node] <= encoded ? 1 : 0);
    return node - (std::size_t{1} << bits);
  }
};

/// Writes the buckets of `n` <= 8 encoded keys.
template <class Digit, class K>
[[gnu::always_inline]] inline void find_buckets(const Digit& digit, const K* encoded, unsigned n,
                                                std::size_t* buckets) {
  for (unsigned j = 0; j < n; ++j) buckets[j] = digit.of(encoded[j]);
}
/// Goes down the tree with four keys at a time: none waits for the others' loads.
template <class K>
[[gnu::always_inline]] inline void find_buckets(const splitter_digit<K>& digit, const K* encoded, unsigned n,
                                                std::size_t* buckets) {
  if (n != 8) {
    for (unsigned j = 0; j < n; ++j) buckets[j] = digit.of(encoded[j]);
    return;
  }
  const K* const tree = digit.tree;
  for (unsigned half = 0; half < 8; half += 4) {
    std::size_t a = 1, b = 1, c = 1, d = 1;
    for (unsigned bit = 0; bit < digit.bits; ++bit) {
      a = 2 * a + (tree[a] <= encoded[half] ? 1 : 0);
      b = 2 * b + (tree[b] <= encoded[half + 1] ? 1 : 0);
      c = 2 * c + (tree[c] <= encoded[half + 2] ? 1 : 0);
      d = 2 * d + (tree[d] <= encoded[half + 3] ? 1 : 0);
    }
    const std::size_t first = std::size_t{1} << digit.bits;
    buckets[half] = a - first;
    buckets[half + 1] = b - first;
    buckets[half + 2] = c - first;
    buckets[half + 3] = d - first;
  }
}

/// Returns the tree of 2^bits - 1 splitters that cut a sorted sample into equal parts. A value that fills a part has a
/// class of its own.
template <class K>
[[nodiscard]] std::vector<K> make_splitter_tree(const std::vector<K>& sorted_sample, unsigned bits) {
  constexpr K highest = static_cast<K>(~K{0});
  const std::size_t num_splitters = (std::size_t{1} << bits) - 1;
  std::vector<K> splitters;
  for (std::size_t i = 1; i <= num_splitters; ++i) {
    const K value = sorted_sample[i * sorted_sample.size() / (num_splitters + 1)];
    if (splitters.empty() || splitters.back() < value) splitters.push_back(value);
    const bool is_repeated =
        i < num_splitters && value == sorted_sample[(i + 1) * sorted_sample.size() / (num_splitters + 1)];
    if (is_repeated && value != highest && splitters.back() == value) splitters.push_back(static_cast<K>(value + 1));
  }
  splitters.resize(num_splitters, highest);
  std::vector<K> tree(num_splitters + 1);
  for (std::size_t node = 1; node <= num_splitters; ++node) {
    const unsigned depth = static_cast<unsigned>(std::bit_width(node)) - 1;
    const std::size_t in_level = node - (std::size_t{1} << depth);
    tree[node] = splitters[((2 * in_level + 1) << (bits - depth - 1)) - 1];
  }
  return tree;
}

/// The digit of one level.
template <class K>
struct level_digit {
  bit_digit<K> bits;
  window_digit<K> window;
  bool is_window = false;
  std::vector<K> splitter_tree;  ///< not empty: these are taken
  unsigned splitter_bits = 0;

  [[nodiscard]] bool is_splitters() const noexcept { return !splitter_tree.empty(); }
  /// Returns whether buckets are more than parts of the key's bits.
  [[nodiscard]] bool is_chosen_by_rank() const noexcept { return is_window || is_splitters(); }

  [[nodiscard]] unsigned shift() const noexcept {
    if (is_splitters()) return 0;
    return is_window ? window.shift : bits.shift;
  }
  [[nodiscard]] std::uint64_t num_buckets() const noexcept {
    if (is_splitters()) return std::uint64_t{1} << splitter_bits;
    return is_window ? window.num_buckets() : bits.num_buckets();
  }
  /// Returns whether the keys of a bucket share the bits from shift() up.
  [[nodiscard]] bool is_exact(std::uint64_t bucket) const noexcept {
    if (is_splitters()) return false;
    return !is_window || (bucket != 0 && bucket != num_buckets() - 1);
  }

  /// Calls f with the digit in its own type. Narrow keys have no windows: their digits reach all the way down.
  /// Keys alone have no splitters.
  template <bool with_splitters, class F>
  void visit(const F& f) const {
    if constexpr (sizeof(K) >= 4) {
      if constexpr (with_splitters) {
        if (is_splitters()) return f(splitter_digit<K>{0, splitter_bits, splitter_tree.data()});
      }
      if (is_window) return f(window);
    }
    f(bits);
  }
};

}  // namespace spansort::device::host
