// SPDX-License-Identifier: Apache-2.0
// A quicksort that threads share: each takes parts, splits them in place, leaves the upper ones to whoever comes, and
// sorts what is small enough in its caches, until all keys are in place.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "device/host/shared_space.hpp"
#include "device/host/vector_sort.hpp"

namespace spansort::device::host {

/// The parts that nobody sorts yet.
template <class K>
class waiting_parts {
 public:
  /// Returns false where there is no room.
  bool put(const vector_part<K>& part) {
    const std::lock_guard lock(mutex_);
    if (count_ == parts_.size()) return false;
    parts_[count_++] = part;
    return true;
  }

  /// Returns the largest, or none.
  std::optional<vector_part<K>> take() {
    const std::lock_guard lock(mutex_);
    if (count_ == 0) return std::nullopt;
    const auto largest =
        std::max_element(parts_.begin(), parts_.begin() + static_cast<std::ptrdiff_t>(count_),
                         [](const auto& left, const auto& right) { return left.num_keys < right.num_keys; });
    std::swap(*largest, parts_[--count_]);
    return parts_[count_];
  }

 private:
  std::mutex mutex_;
  std::array<vector_part<K>, 256> parts_;
  std::size_t count_ = 0;
};

template <class K>
class shared_sorter {
 public:
  shared_sorter(const keys::codec_of<K>& codec, const shared_space& space, std::uint64_t num_keys)
      : codec_(codec),
        space_(space),
        most_keys_(most_keys_of_part(num_keys, space.num_threads())),
        num_left_(num_keys) {}

  void sort(K* keys, std::uint64_t num_keys) {
    // Threads that sleep need about as long to wake as the first split takes.
    space_.run([&](unsigned thread) {
      if (thread == 0) sort_all(keys, num_keys);
      take_parts(thread);
    });
  }

 private:
  static constexpr std::uint64_t fewest_keys = 4096;  ///< fewer are not worth a split

  /// Returns the most keys of a part that is not split but sorted by one thread in its caches. Four parts for each
  /// thread keep all busy to the end; where these would have less than 128 KiB, for which slots pay less, there are
  /// two.
  static std::uint64_t most_keys_of_part(std::uint64_t num_keys, unsigned num_threads) {
    constexpr std::uint64_t small_part = (std::uint64_t{1} << 17) / sizeof(K);
    constexpr std::uint64_t most_keys = shared_space::part_bytes / sizeof(K);
    const std::uint64_t wanted =
        std::max(num_keys / (4 * num_threads), std::min(num_keys / (2 * num_threads), small_part));
    const std::uint64_t share = num_threads == 1 ? most_keys : std::clamp(wanted, fewest_keys, most_keys);
    return share + share / 8;  // halves of halves are a little larger or smaller
  }

  void sort_all(K* keys, std::uint64_t num_keys) {
    if (num_keys <= most_keys_) return sort(vector_sort_begin(codec_, keys, num_keys), 0);
    sort(leave_upper(vector_sort_split_first(codec_, keys, num_keys), num_keys, 0), 0);
  }

  void take_parts(unsigned thread) {
    while (num_left_.load(std::memory_order_acquire) != 0) {
      if (const std::optional<vector_part<K>> part = parts_.take()) {
        sort(*part, thread);
      } else {
        std::this_thread::yield();
      }
    }
  }

  void sort(vector_part<K> part, unsigned thread) {
    while (part.num_keys > most_keys_ && part.can_be_split()) {
      part = leave_upper(vector_sort_split(codec_, part), part.num_keys, thread);
    }
    vector_sort_finish(codec_, part, space_.template scratch_of<K>(thread));
    num_left_.fetch_sub(part.num_keys, std::memory_order_acq_rel);
  }

  /// Leaves the upper part of so many keys to whoever comes. Returns the lower one.
  vector_part<K> leave_upper(const std::pair<vector_part<K>, vector_part<K>>& parts, std::uint64_t num_keys,
                             unsigned thread) {
    const auto& [low, high] = parts;
    num_left_.fetch_sub(num_keys - low.num_keys - high.num_keys, std::memory_order_acq_rel);
    if (!parts_.put(high)) sort(high, thread);
    return low;
  }

  keys::codec_of<K> codec_;
  const shared_space& space_;
  std::uint64_t most_keys_;  ///< of a part that is not split
  std::atomic<std::uint64_t> num_left_;
  waiting_parts<K> parts_;
};

}  // namespace spansort::device::host
