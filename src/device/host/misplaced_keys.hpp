// SPDX-License-Identifier: Apache-2.0
// Keys, pairs and indices of keys in order but for a few that lie anywhere, as those of tables are whose rows change
// and of events that arrive late. The misplaced ones are found in one read (misplaced_finder.hpp), sorted alone, and
// merged back (Cook and Kim, CACM 23(11), 1980) in place, where the others are moved once or not at all
// (misplaced_moves.hpp).
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <span>
#include <type_traits>

#include "base/math.hpp"
#include "device/host/misplaced_finder.hpp"
#include "device/host/misplaced_moves.hpp"
#include "device/host/records.hpp"
#include "device/host/scratch.hpp"
#include "device/host/workers.hpp"

namespace spansort::device::host {

/// Returns into how many parts an input is cut for so many threads: some for each, as long as they are worth it, of
/// what a thread has in its cache from when it looks for places until it moves keys.
[[nodiscard]] inline std::uint64_t num_misplaced_parts(std::uint64_t num_keys, unsigned num_threads) noexcept {
  constexpr std::uint64_t fewest = std::uint64_t{1} << 14;
  constexpr std::uint64_t most = std::uint64_t{1} << 16;
  const std::uint64_t wanted = num_threads == 1 ? most : std::clamp(num_keys / (4 * num_threads), fewest, most);
  return std::max<std::uint64_t>(num_keys / wanted, 1);
}

/// Calls work(part) for so many parts of the input, on the calling thread.
struct in_parts_alone {
  std::uint64_t num_parts = 1;

  [[nodiscard]] std::uint64_t size() const noexcept { return num_parts; }
  template <class Work>
  void operator()(std::uint64_t count, const Work& work) const {
    for (std::uint64_t p = 0; p < count; ++p) work(p);
  }
};

/// Calls work(part) for so many parts of the input, on all threads of a team.
struct in_team_parts {
  workers& team;
  std::uint64_t num_parts;

  in_team_parts(workers& of, std::uint64_t num_keys, bool alone = false)
      : team(of), num_parts(num_misplaced_parts(num_keys, alone ? 1 : of.num_threads())) {}
  [[nodiscard]] std::uint64_t size() const noexcept { return num_parts; }
  template <class Work>
  void operator()(std::uint64_t count, const Work& work) const {
    if (count == 1) return work(std::uint64_t{0});
    team.for_each(count, work);
  }
};

/// Misplaced keys are sorted with this: where they come from, if ties count.
template <class V>
using misplaced_value = std::conditional_t<value_bytes_of<V> == 0, no_value, value4>;

/// Memory for few misplaced keys, which a thread keeps: for one sort at a time, for that of the misplaced keys may find
/// some among them.
class kept_misplaced_room {
 public:
  static constexpr std::uint64_t size_bytes = std::uint64_t{1} << 18;

  /// Returns null while it is taken.
  [[nodiscard]] std::byte* take() {
    if (is_taken_) return nullptr;
    if (memory_ == nullptr) memory_ = make_aligned<std::byte>(size_bytes);
    is_taken_ = true;
    return memory_.get();
  }
  void give_back() noexcept { is_taken_ = false; }

  [[nodiscard]] static kept_misplaced_room& of_thread() {
    thread_local kept_misplaced_room room;
    return room;
  }

 private:
  aligned_array<std::byte> memory_;
  bool is_taken_ = false;
};

/// Memory of one call.
template <class K, class V>
class misplaced_room {
 public:
  misplaced_room() = default;
  misplaced_room(const misplaced_room&) = delete;
  misplaced_room& operator=(const misplaced_room&) = delete;
  ~misplaced_room() {
    if (is_kept_) kept_misplaced_room::of_thread().give_back();
  }

  /// Takes the given memory, what the thread keeps, or new memory. Returns false where there is none.
  [[nodiscard]] bool take(std::span<std::byte> memory, std::uint64_t num_misplaced, std::uint64_t num_parts) {
    most = num_misplaced;
    const std::uint64_t bounds_bytes = base::round_up((num_parts + 1) * sizeof(part_bound), line);
    const std::uint64_t needed =
        bounds_bytes + 3 * bytes_of(sizeof(std::uint32_t)) + 2 * bytes_of(sizeof(K)) + 2 * bytes_of(value_bytes_of<V>);
    std::byte* data = nullptr;
    try {
      data = find_memory(memory, needed);
    } catch (const std::bad_alloc&) {
      return false;
    }
    const auto place = [&]<class T>(T*& array, std::uint64_t size_bytes) {
      array = reinterpret_cast<T*>(data);
      data += size_bytes;
    };
    place(bounds, bounds_bytes);
    place(positions, bytes_of(sizeof(*positions)));
    place(origins, bytes_of(sizeof(*origins)));
    place(places, bytes_of(sizeof(*places)));
    place(keys, bytes_of(sizeof(K)));
    place(crossing_keys, bytes_of(sizeof(K)));
    place(values, bytes_of(value_bytes_of<V>));
    place(crossing_values, bytes_of(value_bytes_of<V>));
    return true;
  }

  part_bound* bounds = nullptr;  ///< of the parts, and the end
  std::uint32_t* positions = nullptr;
  std::uint32_t* origins = nullptr;  ///< of sorted misplaced keys: which of the positions
  std::uint32_t* places = nullptr;   ///< of these: the key before which each belongs
  K* keys = nullptr;                 ///< these
  V* values = nullptr;
  K* crossing_keys = nullptr;  ///< of the others, those that leave their part
  V* crossing_values = nullptr;
  std::uint64_t most = 0;  ///< all have room for so many, or for the parts

 private:
  static constexpr std::uint64_t line = 64;

  [[nodiscard]] std::uint64_t bytes_of(std::uint64_t size) const { return base::round_up(most * size + 1, line); }

  [[nodiscard]] std::byte* find_memory(std::span<std::byte> given, std::uint64_t needed) {
    if (needed + line <= given.size()) {
      return given.data() + line - reinterpret_cast<std::uintptr_t>(given.data()) % line;
    }
    if (needed <= kept_misplaced_room::size_bytes) {
      std::byte* const kept = kept_misplaced_room::of_thread().take();
      is_kept_ = kept != nullptr;
      if (is_kept_) return kept;
    }
    own_ = make_aligned<std::byte>(needed);
    return own_.get();
  }

  aligned_array<std::byte> own_;
  bool is_kept_ = false;
};

/// Sorts around misplaced keys. Parts: in_parts_alone, or what has a size and calls work(part) for each of as many
/// parts, or of fewer, on all threads.
template <class K, class V, class Parts>
class misplaced_sorter {
 public:
  using misplaced_records = split_records<K, misplaced_value<V>>;

  misplaced_sorter(const keys::codec_of<K>& codec, const K* keys, std::uint64_t num_keys, const Parts& parts)
      : codec_(codec), keys_(keys), num_keys_(num_keys), parts_(parts), num_parts_(parts.size()) {}

  /// Finds the misplaced keys. Returns false where they are too many, or where there is no memory for as many as there
  /// may be: `memory` is used where it suffices.
  bool find(std::span<std::byte> memory = {}) {
    if (!room_.take(memory, most_misplaced<K, V>(num_keys_), num_parts_)) return false;
    const misplaced_finder<K> finder(codec_, keys_, num_keys_);
    for (std::uint64_t p = 0; p < num_parts_; ++p) room_.bounds[p] = {num_keys_ / num_parts_ * p};
    room_.bounds[num_parts_] = {num_keys_};
    const std::uint64_t most_of_part = room_.most / num_parts_;
    std::atomic<bool> are_few = true;
    parts_(num_parts_, [&](std::uint64_t p) {
      if (!are_few.load(std::memory_order_relaxed)) return;
      misplaced_positions of_part{room_.positions + p * most_of_part, 0, most_of_part};
      if (!finder.find_in({room_.bounds[p].begin, room_.bounds[p + 1].begin}, room_.most, of_part)) are_few = false;
      room_.bounds[p].num_leaving = of_part.count;
    });
    if (!are_few) return false;
    misplaced_positions all{room_.positions, room_.bounds[0].num_leaving, room_.most};
    for (std::uint64_t p = 1; p < num_parts_; ++p) {
      const part_bound& bound = room_.bounds[p];
      const misplaced_positions of_part{room_.positions + p * most_of_part, bound.num_leaving, most_of_part};
      if (!finder.append(bound.begin, of_part, all)) return false;
    }
    count_ = all.count;
    return true;
  }

  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }

  /// Sorts records in place. sort(misplaced, spare, count) sorts misplaced keys, with their origins as values of 4
  /// bytes where records have values, stably then. Nothing has been overwritten before, for it may throw.
  template <class Sort>
  void sort_records(split_records<K, V> records, const Sort& sort) {
    sort_misplaced(sort);
    if constexpr (has_values) {
      for_all([&](std::uint64_t i) { room_.values[i] = records.values[position_of(i)]; });
    }
    bound_parts();
    while (!can_cross()) join_parts();
    parts_(num_parts_, [&](std::uint64_t p) {
      find_places(p);
      if constexpr (has_values) move(p, records.values, room_.values, room_.crossing_values);
      move(p, records.keys, room_.keys, room_.crossing_keys);
    });
    for (std::uint64_t p = 1; p < num_parts_; ++p) {
      const part_bound& bound = room_.bounds[p];
      const std::uint64_t count = room_.bounds[p + 1].crossing - bound.crossing;
      const std::uint64_t to = bound.shift() < 0 ? bound.begin - count : bound.begin;
      std::memcpy(records.keys + to, room_.crossing_keys + bound.crossing, count * sizeof(K));
      if constexpr (has_values) {
        std::memcpy(static_cast<void*>(records.values + to), room_.crossing_values + bound.crossing, count * sizeof(V));
      }
    }
  }

  /// Writes the order of the keys. The misplaced ones are sorted as by sort_records().
  template <class Index, class Sort>
  void write_order(Index* indices, const Sort& sort) {
    sort_misplaced(sort);
    bound_parts();
    parts_(num_parts_, [&](std::uint64_t p) {
      find_places(p);
      write_part_order(events_of(p), room_.bounds[p], room_.bounds[p + 1], indices,
                       [&](std::uint64_t i) { return position_of(i); });
    });
  }

 private:
  static constexpr bool has_values = value_bytes_of<V> != 0;

  /// Returns where the i-th sorted misplaced key lay.
  [[nodiscard]] std::uint64_t position_of(std::uint64_t i) const { return room_.positions[room_.origins[i]]; }

  /// Calls work(i) for each misplaced key.
  template <class Work>
  void for_all(const Work& work) const {
    parts_(num_parts_, [&](std::uint64_t p) {
      const std::uint64_t end = count_ * (p + 1) / num_parts_;
      for (std::uint64_t i = count_ * p / num_parts_; i < end; ++i) work(i);
    });
  }

  template <class Sort>
  void sort_misplaced(const Sort& sort) {
    for_all([&](std::uint64_t i) {
      room_.keys[i] = keys_[room_.positions[i]];
      if constexpr (has_values) room_.origins[i] = static_cast<std::uint32_t>(i);
    });
    if constexpr (has_values) {
      sort(misplaced_records{room_.keys, reinterpret_cast<value4*>(room_.origins)},
           misplaced_records{room_.crossing_keys, reinterpret_cast<value4*>(room_.places)}, count_);
    } else {
      sort(misplaced_records{room_.keys, nullptr}, misplaced_records{room_.crossing_keys, nullptr}, count_);
    }
  }

  /// Returns whether the i-th sorted misplaced key belongs before a key in order.
  [[nodiscard]] bool belongs_before(std::uint64_t i, std::uint64_t key) const {
    const K misplaced = codec_.encode(room_.keys[i]);
    const K other = codec_.encode(keys_[key]);
    if constexpr (has_values) return misplaced < other || (misplaced == other && position_of(i) < key);
    return misplaced < other;
  }

  /// Finds how many misplaced keys lie before each part, and how many belong there.
  void bound_parts() {
    const misplaced_positions all{room_.positions, count_, room_.most};
    std::uint64_t coming = 0;
    for (std::uint64_t p = 0; p <= num_parts_; ++p) {
      part_bound& bound = room_.bounds[p];
      bound.num_leaving = all.count_below(bound.begin);
      std::uint64_t first = bound.begin;  // in order
      for (std::uint64_t at = bound.num_leaving; at < count_ && room_.positions[at] == first; ++at) ++first;
      std::uint64_t high = p == 0 ? 0 : count_;
      while (coming < high) {
        const std::uint64_t middle = coming + (high - coming) / 2;
        if (first == num_keys_ || belongs_before(middle, first)) {
          coming = middle + 1;
        } else {
          high = middle;
        }
      }
      bound.num_coming = coming;
    }
    place_crossing();
  }

  void place_crossing() {
    std::uint64_t crossing = 0;
    for (std::uint64_t p = 0; p <= num_parts_; ++p) {
      room_.bounds[p].crossing = crossing;
      crossing += static_cast<std::uint64_t>(std::abs(room_.bounds[p].shift()));
    }
  }
  /// Returns whether there is room for all that crosses bounds, and none crosses two of them.
  [[nodiscard]] bool can_cross() const {
    for (std::uint64_t p = 0; p < num_parts_; ++p) {
      const part_bound& begin = room_.bounds[p];
      const part_bound& end = room_.bounds[p + 1];
      const auto size = static_cast<std::int64_t>(end.begin - begin.begin);
      if (std::max(std::abs(begin.shift()), std::abs(end.shift())) > size) return false;
    }
    return room_.bounds[num_parts_].crossing <= room_.most;
  }

  /// Joins neighbouring parts, where many keys belong to others.
  void join_parts() {
    const part_bound end = room_.bounds[num_parts_];
    for (std::uint64_t p = 1; 2 * p < num_parts_; ++p) room_.bounds[p] = room_.bounds[2 * p];
    num_parts_ = base::ceil_div(num_parts_, std::uint64_t{2});
    room_.bounds[num_parts_] = end;
    place_crossing();
  }

  /// Finds the places of misplaced keys that come to a part.
  void find_places(std::uint64_t p) const {
    const part_bound& part = room_.bounds[p];
    const part_bound& end = room_.bounds[p + 1];
    std::uint64_t i = part.num_coming;
    std::uint64_t begin = part.begin;
    for (std::uint64_t at = part.num_leaving; at <= end.num_leaving && i < end.num_coming; ++at) {
      const std::uint64_t until = at < end.num_leaving ? room_.positions[at] : end.begin;
      while (i < end.num_coming && begin < until && belongs_before(i, until - 1)) {
        begin = find_place(i, begin, until);
        room_.places[i++] = static_cast<std::uint32_t>(begin);
      }
      begin = until + 1;
    }
    std::fill(room_.places + i, room_.places + end.num_coming, static_cast<std::uint32_t>(end.begin));
  }

  /// Returns the first of neighbours in order before which a misplaced key belongs; one is.
  [[nodiscard]] std::uint64_t find_place(std::uint64_t i, std::uint64_t begin, std::uint64_t end) const {
    const K misplaced = codec_.encode(room_.keys[i]);
    bool goes_first = false;  // among equal keys
    if constexpr (has_values) goes_first = position_of(i) < begin;
    std::uint64_t length = end - begin;
    while (length > 1) {
      const std::uint64_t half = length / 2;
      const K other = codec_.encode(keys_[begin + half - 1]);
      const bool is_before = goes_first ? misplaced <= other : misplaced < other;
      begin += is_before ? 0 : half;
      length -= half;
    }
    return begin;
  }

  [[nodiscard]] misplaced_events events_of(std::uint64_t p) const {
    return {room_.positions, room_.places, room_.bounds[p], room_.bounds[p + 1]};
  }

  template <class T>
  void move(std::uint64_t p, T* data, const T* misplaced, T* crossing) const {
    const misplaced_events events = events_of(p);
    part_mover<T>(events, room_.bounds[p], room_.bounds[p + 1], data, misplaced, crossing).move();
  }

  const keys::codec_of<K> codec_;
  const K* const keys_;
  const std::uint64_t num_keys_;
  const Parts parts_;
  std::uint64_t num_parts_;
  std::uint64_t count_ = 0;
  misplaced_room<K, V> room_;
};

}  // namespace spansort::device::host
