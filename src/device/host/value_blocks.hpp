// SPDX-License-Identifier: Apache-2.0
// Pairs of up to 16 keys of 32 bits, on a thread with AVX-512: one read finds the class of each key in registers, and
// moves its value behind the last one of its class. Nothing is counted before, so that the values of a class go to
// blocks of a room, which are copied to the result one after the other.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <span>

#include "device/host/few_values.hpp"
#include "device/streaming.hpp"

namespace spansort::device::host {

/// Pairs that are moved together.
inline constexpr std::uint64_t block_group = 64;

/// Tells the class of a key by a hash to cells without collisions.
class class_cells {
 public:
  static constexpr unsigned cell_bits = 6;
  static constexpr unsigned num_cells = 1U << cell_bits;

  /// Finds a hash for up to most_few_values different keys, whose classes are their places. Returns false where trials
  /// have found none: one in seven hashes suits 16 keys.
  [[nodiscard]] bool take(const std::array<std::uint32_t, most_few_values>& keys, unsigned count) {
    constexpr unsigned most_trials = 256;
    keys_ = keys;
    multiplier_ = 0x9E3779B9U;
    for (unsigned i = 0; i < most_trials; ++i) {
      multiplier_ = multiplier_ * 5 + 4;  // odd again
      std::uint64_t taken = 0;
      for (unsigned c = 0; c < count; ++c) taken |= std::uint64_t{1} << cell_of(keys[c]);
      if (static_cast<unsigned>(std::popcount(taken)) != count) continue;
      classes_ = {};
      for (unsigned c = 0; c < count; ++c) classes_[cell_of(keys[c])] = static_cast<std::uint16_t>(c);
      return true;
    }
    return false;
  }

  [[nodiscard]] const std::uint16_t* classes() const noexcept { return classes_.data(); }
  [[nodiscard]] const std::uint32_t* keys() const noexcept { return keys_.data(); }
  [[nodiscard]] std::uint32_t multiplier() const noexcept { return multiplier_; }

 private:
  [[nodiscard]] unsigned cell_of(std::uint32_t key) const noexcept { return key * multiplier_ >> (32 - cell_bits); }

  alignas(64) std::array<std::uint16_t, num_cells> classes_ = {};
  alignas(64) std::array<std::uint32_t, most_few_values> keys_ = {};
  std::uint32_t multiplier_ = 1;
};

/// Cursors say where in the room the next value of each class goes, and the last place with room for a whole group.
struct class_cursors {
  alignas(64) std::array<std::uint32_t, most_few_values> next = {};
  alignas(64) std::array<std::uint32_t, most_few_values> last = {};
};

/// Returns whether this machine moves values to blocks.
[[nodiscard]] bool has_value_blocks() noexcept;

/// Moves the values of `num_groups` groups of pairs to the room. Stops before a group in which a key is none of the
/// cells' or before which a class is beyond its last place. Returns how many groups it has moved.
template <class V>
[[nodiscard]] std::uint64_t move_to_blocks(const std::uint32_t* keys, const V* values, std::uint64_t num_groups,
                                           const class_cells& cells, V* room, class_cursors& cursors);

/// Moves the values of one input to blocks. The keys are told beforehand or found on the way.
template <class V>
class block_mover {
 public:
  /// Most pairs of one input.
  static constexpr std::uint64_t most_pairs = std::uint64_t{1} << 16;

  /// Returns how many values the room of so many pairs has.
  [[nodiscard]] static constexpr std::uint64_t room_for(std::uint64_t num_pairs) noexcept {
    return most_blocks_of(num_pairs) * block_stride;
  }

  explicit block_mover(V* room) noexcept : room_(room) {}

  [[nodiscard]] unsigned num_classes() const noexcept { return num_classes_; }
  [[nodiscard]] std::uint32_t key(unsigned c) const noexcept { return keys_[c]; }
  [[nodiscard]] std::uint64_t count(unsigned c) const noexcept { return counts_[c]; }

  /// Gives keys a class each, in their order. Returns false where no hash was found.
  [[nodiscard]] bool take(std::span<const std::uint32_t> keys) {
    for (const std::uint32_t key : keys) open(key);
    return cells_.take(keys_, num_classes_);
  }

  /// Moves the values of up to most_pairs pairs. Keys without a class get one. Returns false where these are too many.
  [[nodiscard]] bool move(const std::uint32_t* keys, const V* values, std::uint64_t num_pairs) {
    // Without a class all cells would say the first one.
    if (num_classes_ == 0 && num_pairs != 0 && !take({keys, 1})) return false;
    std::uint64_t at = 0;
    while (at + block_group <= num_pairs) {
      at +=
          move_to_blocks(keys + at, values + at, (num_pairs - at) / block_group, cells_, room_, cursors_) * block_group;
      if (at + block_group <= num_pairs && !make_way(keys + at, block_group)) return false;
    }
    if (at < num_pairs && !move_tail(keys + at, values + at, num_pairs - at)) return false;
    for (unsigned c = 0; c < num_classes_; ++c) close(c);
    return true;
  }

  /// Copies the values of a class, in input order. Returns where they end.
  V* copy(unsigned c, V* to, bool stream) const {
    for (unsigned b = first_block_[c]; b != no_block; b = next_block_[b]) {
      write_sequence(to, room_ + b * block_stride, fill_[b] * sizeof(V), stream);
      to += fill_[b];
    }
    return to;
  }

 private:
  static constexpr std::uint64_t block_values = 2048;
  /// Blocks that begin a power of two apart would share few sets of the cache.
  static constexpr std::uint64_t block_stride = block_values + 16;
  [[nodiscard]] static constexpr std::uint64_t most_blocks_of(std::uint64_t num_pairs) noexcept {
    return num_pairs / (block_values - block_group + 1) + most_few_values;
  }
  static constexpr std::uint16_t no_block = most_blocks_of(most_pairs);

  void open(std::uint32_t key) {
    const unsigned c = num_classes_++;
    keys_[c] = key;
    first_block_[c] = num_blocks_;
    begin_block(c);
  }

  void begin_block(unsigned c) {
    open_block_[c] = num_blocks_;
    next_block_[num_blocks_] = no_block;
    cursors_.next[c] = static_cast<std::uint32_t>(num_blocks_++ * block_stride);
    cursors_.last[c] = cursors_.next[c] + static_cast<std::uint32_t>(block_values - block_group);
  }

  /// Notes how many values the open block of a class has.
  void close(unsigned c) {
    const std::uint16_t block = open_block_[c];
    fill_[block] = static_cast<std::uint16_t>(cursors_.next[c] - block * block_stride);
    counts_[c] += fill_[block];
  }

  /// Opens a block for each class whose block is full, or else a class for each key without one. Returns false where
  /// these are too many.
  [[nodiscard]] bool make_way(const std::uint32_t* keys, std::uint64_t num_keys) {
    if (open_blocks()) return true;
    const unsigned known = num_classes_;
    for (std::uint64_t i = 0; i < num_keys; ++i) {
      const auto end = keys_.begin() + num_classes_;
      if (std::find(keys_.begin(), end, keys[i]) != end) continue;
      if (num_classes_ == most_few_values) return false;
      open(keys[i]);
    }
    return num_classes_ == known || cells_.take(keys_, num_classes_);
  }

  /// Returns whether a block was full.
  bool open_blocks() {
    bool was_full = false;
    for (unsigned c = 0; c < num_classes_; ++c) {
      if (cursors_.next[c] <= cursors_.last[c]) continue;
      close(c);
      next_block_[open_block_[c]] = num_blocks_;
      begin_block(c);
      was_full = true;
    }
    return was_full;
  }

  /// Moves less than a group as a whole one, whose last pairs are of the first class.
  [[nodiscard]] bool move_tail(const std::uint32_t* keys, const V* values, std::uint64_t num_pairs) {
    open_blocks();
    if (!make_way(keys, num_pairs)) return false;
    std::array<std::uint32_t, block_group> group_keys;
    std::array<V, block_group> group_values = {};
    group_keys.fill(keys_[0]);
    std::copy_n(keys, num_pairs, group_keys.begin());
    std::memcpy(static_cast<void*>(group_values.data()), values, num_pairs * sizeof(V));
    if (move_to_blocks(group_keys.data(), group_values.data(), 1, cells_, room_, cursors_) == 0) return false;
    cursors_.next[0] -= static_cast<std::uint32_t>(block_group - num_pairs);
    return true;
  }

  V* room_;
  class_cells cells_;
  class_cursors cursors_;
  unsigned num_classes_ = 0;
  std::uint16_t num_blocks_ = 0;
  std::array<std::uint32_t, most_few_values> keys_ = {};
  std::array<std::uint64_t, most_few_values> counts_ = {};
  std::array<std::uint16_t, most_few_values> first_block_ = {};
  std::array<std::uint16_t, most_few_values> open_block_ = {};
  std::array<std::uint16_t, no_block> next_block_;
  std::array<std::uint16_t, no_block> fill_;
};

}  // namespace spansort::device::host
