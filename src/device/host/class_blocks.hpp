// SPDX-License-Identifier: Apache-2.0
// Blocks hold the keys of classes while nobody knows yet how many there are of each: a thread takes them from a common
// pool, one at a time for each of its classes, and fills them with whole lines.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

namespace spansort::device::host {

/// Keys that lie side by side.
template <class K>
struct key_run {
  const K* keys = nullptr;
  std::uint64_t count = 0;
};

/// Blocks of equally many keys in several arrays. Any thread takes.
template <class K>
class block_pool {
 public:
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  explicit block_pool(std::uint64_t block_keys)
      : block_keys_(block_keys), num_at_once_(static_cast<std::uint32_t>(at_once(block_keys * sizeof(K)))) {}

  /// Adds as many whole blocks as an array holds, at whole lines.
  void add(K* keys, std::uint64_t num_keys) {
    constexpr std::uint64_t line_bytes = 64;
    const std::uint64_t skipped =
        (line_bytes - reinterpret_cast<std::uintptr_t>(keys) % line_bytes) % line_bytes / sizeof(K);
    for (std::uint64_t i = skipped; i + block_keys_ <= num_keys; i += block_keys_) addresses_.push_back(keys + i);
    following_.resize(addresses_.size(), none);
  }

  /// Blocks that a thread takes together, so that short ones do not make all threads wait for the same counter.
  [[nodiscard]] static constexpr std::uint64_t at_once(std::uint64_t block_bytes) noexcept {
    constexpr std::uint64_t page_bytes = 4096;
    return block_bytes >= page_bytes ? 1 : page_bytes / block_bytes;
  }

  /// Returns the first of at_once() blocks. There are enough: what is filled fits, and each thread has one for each
  /// class that is not full, and those that it took together.
  [[nodiscard]] std::uint32_t take() noexcept { return next_.fetch_add(num_at_once_, std::memory_order_relaxed); }
  [[nodiscard]] std::uint32_t num_at_once() const noexcept { return num_at_once_; }
  void link(std::uint32_t block, std::uint32_t next) noexcept { following_[block] = next; }

  [[nodiscard]] K* address(std::uint32_t block) const noexcept { return addresses_[block]; }
  [[nodiscard]] std::uint32_t following(std::uint32_t block) const noexcept { return following_[block]; }
  [[nodiscard]] std::uint64_t block_keys() const noexcept { return block_keys_; }

 private:
  std::uint64_t block_keys_;
  std::uint32_t num_at_once_;
  std::vector<K*> addresses_;
  std::vector<std::uint32_t> following_;  ///< the next block of the same class and thread
  std::atomic<std::uint32_t> next_{0};
};

/// The keys that one thread has collected of each class. The arrays are its scratch.
template <class K>
struct class_writer {
  static constexpr std::uint64_t line_keys = 64 / sizeof(K);

  block_pool<K>* pool = nullptr;
  unsigned num_classes = 0;
  std::uint32_t* first_blocks = nullptr;
  std::uint32_t* last_blocks = nullptr;
  std::uint32_t* own_blocks = nullptr;  ///< the next that is the thread's already, and where those end
  K** nexts = nullptr;                  ///< where the class's next line goes
  K** ends = nullptr;                   ///< where the class's last block ends
  K* rests = nullptr;                   ///< a line a class: keys that do not fill one yet
  std::uint32_t* rest_counts = nullptr;

  void start() noexcept {
    own_blocks[0] = own_blocks[1] = 0;
    for (unsigned c = 0; c < num_classes; ++c) {
      first_blocks[c] = last_blocks[c] = block_pool<K>::none;
      nexts[c] = ends[c] = nullptr;
      rest_counts[c] = 0;
    }
  }

  void take_block(unsigned c) noexcept {
    if (own_blocks[0] == own_blocks[1]) {
      own_blocks[0] = pool->take();
      own_blocks[1] = own_blocks[0] + pool->num_at_once();
    }
    const std::uint32_t block = own_blocks[0]++;
    if (last_blocks[c] == block_pool<K>::none) {
      first_blocks[c] = block;
    } else {
      pool->link(last_blocks[c], block);
    }
    last_blocks[c] = block;
    nexts[c] = pool->address(block);
    ends[c] = nexts[c] + pool->block_keys();
  }

  /// Calls f(key_run) for the parts of a class, in the order in which they were read.
  template <class F>
  void for_each_run(unsigned c, const F& f) const {
    for (std::uint32_t b = first_blocks[c]; b != block_pool<K>::none; b = pool->following(b)) {
      K* const keys = pool->address(b);
      f(key_run<K>{keys, b == last_blocks[c] ? static_cast<std::uint64_t>(nexts[c] - keys) : pool->block_keys()});
    }
    if (rest_counts[c] != 0) f(key_run<K>{rests + c * line_keys, rest_counts[c]});
  }
};

/// The slots of one tile: keys of class c lie from begins[c] on.
template <class K>
struct tile_slots {
  K* keys = nullptr;
  std::uint32_t* cursors = nullptr;  ///< where each class goes on
  const std::uint32_t* begins = nullptr;
};

}  // namespace spansort::device::host
