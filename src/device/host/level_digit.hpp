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

#include "device/host/splitter_buckets.hpp"
#include "keys/digit.hpp"

namespace spansort::device::host {

/// `bits` bits of the encoded key from `shift` up.
template <class K>
struct bit_digit {
  static constexpr bool wants_many = false;
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
  static constexpr bool wants_many = false;
  unsigned shift = 0;
  unsigned bits = 0;
  K base = 0;

  [[nodiscard]] std::uint64_t num_buckets() const noexcept { return std::uint64_t{1} << bits; }
  [[nodiscard]] std::size_t of(K encoded) const noexcept {
    const K above = encoded > base ? static_cast<K>(encoded - base) : K{0};
    return std::min<std::size_t>(static_cast<K>(above >> shift), num_buckets() - 1);
  }
};

/// Classes between splitters, which a tree holds as find_splitter_buckets() reads them. Serves keys that crowd at
/// several places, whose samples are cut into equal parts: each class has about as many keys as the others, or keys of
/// one value.
template <class K>
struct splitter_digit {
  unsigned shift = 0;  ///< classes need not share any bits
  unsigned bits = 0;
  const K* tree = nullptr;

  static constexpr bool wants_many = true;  ///< buckets of many keys at a time are found faster

  [[nodiscard]] std::uint64_t num_buckets() const noexcept { return std::uint64_t{1} << bits; }
  void find(const K* encoded, std::uint64_t num_keys, std::uint16_t* buckets) const {
    find_splitter_buckets(tree, bits, encoded, num_keys, buckets);
  }
  [[nodiscard]] std::size_t of(K encoded) const noexcept {
    std::size_t node = 1;
    for (unsigned b = 0; b < bits; ++b) node = 2 * node + (tree[node] <= encoded ? 1 : 0);
    return node - (std::size_t{1} << bits);
  }
};

/// Writes the 2^bits - 1 splitters that cut a sorted sample into equal parts, as find_splitter_buckets() reads them;
/// the tree has 2^(bits + 1) keys. A value that fills a part has a class of its own.
template <class K>
void write_splitter_tree(const K* sorted_sample, std::uint64_t num_samples, unsigned bits, K* tree) {
  constexpr K highest = static_cast<K>(~K{0});
  const std::size_t num_splitters = (std::size_t{1} << bits) - 1;
  K* const splitters = tree + num_splitters + 1;
  std::size_t count = 0;
  const auto add = [&](K splitter) {
    if (count < num_splitters) splitters[count++] = splitter;
  };
  for (std::size_t i = 1; i <= num_splitters; ++i) {
    const K value = sorted_sample[i * num_samples / (num_splitters + 1)];
    if (count == 0 || splitters[count - 1] < value) add(value);
    const bool is_repeated = i < num_splitters && value == sorted_sample[(i + 1) * num_samples / (num_splitters + 1)];
    if (is_repeated && value != highest && splitters[count - 1] == value) add(static_cast<K>(value + 1));
  }
  std::fill(splitters + count, splitters + num_splitters + 1, highest);
  tree[0] = 0;
  for (std::size_t node = 1; node <= num_splitters; ++node) {
    const unsigned depth = static_cast<unsigned>(std::bit_width(node)) - 1;
    const std::size_t in_level = node - (std::size_t{1} << depth);
    tree[node] = splitters[((2 * in_level + 1) << (bits - depth - 1)) - 1];
  }
}

/// Returns such a tree.
template <class K>
[[nodiscard]] std::vector<K> make_splitter_tree(const std::vector<K>& sorted_sample, unsigned bits) {
  std::vector<K> tree(std::size_t{2} << bits);
  write_splitter_tree(sorted_sample.data(), sorted_sample.size(), bits, tree.data());
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
