// SPDX-License-Identifier: Apache-2.0
// Keys of 16 bits on threads that share them: each takes those of a range of values, which a sample bounds, out of
// all keys, and sorts them in its scratch; then they are written to their places. A vector has so many of these
// keys that to read all of them for every range takes less time than to split them once more.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>

#include "base/assert.hpp"
#include "device/host/heavy_pairs.hpp"
#include "device/host/narrow_sort.hpp"
#include "device/host/shared_space.hpp"
#include "device/host/vector_sort.hpp"
#include "keys/codec.hpp"

namespace spansort::device::host {

class shared_narrow_sorter {
 public:
  using key = std::uint16_t;
  shared_narrow_sorter(const shared_space& space, const keys::codec_of<key>& codec) : space_(space), codec_(codec) {}

  /// Returns whether keys that are too many for one thread's caches take less time so than counted: 2^19 took 16
  /// threads of an Emerald Rapids, eight of which take part, 0.35 ms and counted 0.85, 2^20 0.8 and 0.8 to 1.3; four
  /// threads 0.54 and 0.55 to 0.7, and 1.0 and 0.7 to 0.9.
  [[nodiscard]] static bool is_worth_it(const shared_space& space, std::uint64_t num_keys) noexcept {
    constexpr std::uint64_t most_keys_of_part = std::uint64_t{1} << 16;
    if (!has_vector_sort() || space.num_threads() < 2 || num_keys < num_samples) return false;
    return num_keys / space.num_threads() <= most_keys_of_part;
  }

  /// Sorts 512 keys or more. Returns false, with nothing written, where a value seems to hold more than an
  /// eighth of the keys, for one thread sorts these in less time, and where a range has more keys than find room.
  [[nodiscard]] bool sort(key* keys, std::uint64_t num_keys) {
    if (!choose_ranges(keys, num_keys)) return false;
    for_each_part([&](unsigned p) { counts_[p] = take_and_sort(keys, num_keys, p); });
    std::uint64_t num_taken = 0;
    for (const std::uint64_t count : counts_) {
      if (count > room) return false;
      num_taken += count;
    }
    SPANSORT_ASSERT(num_taken == num_keys);
    for_each_part([&](unsigned p) {
      std::uint64_t begin = 0;
      for (unsigned before = 0; before < p; ++before) begin += counts_[before];
      std::memcpy(keys + begin, part(p), counts_[p] * sizeof(key));
    });
    return true;
  }

 private:
  static constexpr std::uint64_t num_samples = 512;
  /// A part and the two arrays that its sort takes share the larger array of a thread's scratch.
  static constexpr std::uint64_t array_keys = vector_sort_spread * shared_space::part_bytes / sizeof(key) / 3;
  static constexpr std::uint64_t room = array_keys - narrow_sort_slack_keys;

  /// The scratch of a part is that of the thread of its number, whichever thread takes it.
  [[nodiscard]] key* part(unsigned p) const { return space_.template scratch_of<key>(p).second; }

  template <class Work>
  void for_each_part(const Work& work) const {
    std::atomic<unsigned> next = 0;
    space_.run([&](unsigned) {
      for (unsigned p = next++; p < space_.num_threads(); p = next++) work(p);
    });
  }

  /// Returns false where a value holds more than an eighth of the sample.
  [[nodiscard]] bool choose_ranges(const key* keys, std::uint64_t num_keys) {
    constexpr std::uint64_t most_alike = num_samples / 8;
    std::array<key, num_samples> sample;
    const key_sampler<key> sampled(keys, num_keys, num_samples);
    for (std::uint64_t i = 0; i < num_samples; ++i) sample[i] = codec_.encode(sampled(i));
    narrow_sort(keys::codec_of<key>(), sample.data(), num_samples, part(0), part(0) + array_keys);
    for (std::uint64_t i = most_alike; i < num_samples; ++i) {
      if (sample[i] == sample[i - most_alike]) return false;
    }
    const unsigned num_parts = space_.num_threads();
    for (unsigned p = 1; p < num_parts; ++p) begins_[p] = sample[p * num_samples / num_parts];
    return true;
  }

  /// Returns how many keys the part has, more than there is room for where that is so.
  [[nodiscard]] std::uint64_t take_and_sort(const key* keys, std::uint64_t num_keys, unsigned p) const {
    const unsigned end = p + 1 == space_.num_threads() ? 1U << 16 : begins_[p + 1];
    if (end == begins_[p]) return 0;
    key* const own = part(p);
    const std::uint64_t count =
        narrow_select(codec_, keys, num_keys, {begins_[p], static_cast<key>(end - 1)}, own, room);
    if (count != 0 && count <= room) narrow_sort(codec_, own, count, own + array_keys, own + 2 * array_keys);
    return count;
  }

  const shared_space& space_;
  const keys::codec_of<key>& codec_;
  std::array<key, most_shared_threads> begins_ = {};  ///< encoded: the least key of each part
  std::array<std::uint64_t, most_shared_threads> counts_ = {};
};

}  // namespace spansort::device::host
