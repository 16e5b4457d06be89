// SPDX-License-Identifier: Apache-2.0
// Keys, pairs and indices of keys in order but for a few that lie anywhere, as those of tables are whose rows change and
// of events that arrive late. The misplaced ones are found in one read, sorted by themselves, and each stretch of the
// others moves by as many places as misplaced ones leave before it or come before it: once, in place, or not at all.
//
// How many keys have to be removed for the others to be in order is a classic measure of presortedness, Rem (Mannila,
// IEEE Transactions on Computers C-34(4), 1985); that these are merged back is Cook and Kim's way (CACM 23(11), 1980).
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>
#include <span>
#include <type_traits>

#include "base/math.hpp"
#include "device/host/records.hpp"
#include "device/host/scratch.hpp"
#include "device/host/vector_kernels.hpp"
#include "device/host/workers.hpp"
#include "device/host/write_positions.hpp"

namespace spansort::device::host {

template <class K>
inline constexpr std::uint64_t fewest_around_misplaced = std::uint64_t{1} << (sizeof(K) == 8 ? 10 : 11);
/// Few keys may happen to have so many misplaced ones more than their share.
inline constexpr std::uint64_t misplaced_by_chance = 8;

/// Returns how many keys of so many may be misplaced for it to pay to sort around them. A misplaced key takes as long
/// as so many others do in a sort: on one thread of a Granite Rapids 75 ns among u32 and 125 among pairs of u32, when
/// the processor has not learned where they lie.
template <class K, class V>
[[nodiscard]] constexpr std::uint64_t most_misplaced(std::uint64_t num_keys) noexcept {
  constexpr std::uint64_t free = misplaced_by_chance;
  constexpr bool are_wide = sizeof(K) == 8;
  constexpr bool are_alone = value_bytes_of<V> == 0;
  if (num_keys < std::uint64_t{1} << 11) return free + num_keys / 64;
  if (num_keys < std::uint64_t{1} << 17) return free + num_keys / (are_wide ? 32 : are_alone ? 64 : 40);
  return free + num_keys / (are_wide ? 20 : are_alone ? 32 : 24);
}

/// Returns whether keys may be in order but for a few: whether sampled ones are, and their right neighbours are not
/// below them. Keys in no order are known by the first eight.
template <class K>
[[nodiscard]] bool may_be_nearly_ordered(const keys::codec_of<K>& codec, const K* keys, std::uint64_t num_keys) {
  if (num_keys < fewest_around_misplaced<K> || num_keys > std::numeric_limits<std::uint32_t>::max()) return false;
  const auto falls_at_most = [&](std::uint64_t num_samples, unsigned most) {
    const std::uint64_t step = (num_keys - 1) / num_samples;
    unsigned falls = 0;
    K left = codec.encode(keys[0]);
    for (std::uint64_t s = 0, i = step / 2; s < num_samples; ++s, i += step) {
      const K sampled = codec.encode(keys[i]);
      falls += (sampled < left ? 1U : 0U) + (codec.encode(keys[i + 1]) < sampled ? 1U : 0U);
      left = sampled;
    }
    return falls <= most;
  };
  return falls_at_most(8, 3) && falls_at_most(64, 8);
}

/// Memory of one call. `positions`, `places` and so on have room for `most` misplaced keys.
template <class K, class V>
struct misplaced_room {
  std::uint32_t* positions = nullptr;  ///< of misplaced keys, ascending
  std::uint32_t* origins = nullptr;    ///< of sorted ones: which of the positions
  std::uint32_t* places = nullptr;     ///< of sorted ones: the key before which each belongs
  K* keys = nullptr;                   ///< sorted
  V* values = nullptr;                 ///< of these
  K* crossing_keys = nullptr;          ///< keys that leave their part
  V* crossing_values = nullptr;
  std::uint64_t most = 0;
};

/// What is sorted with misplaced keys.
template <class V>
using misplaced_value = std::conditional_t<value_bytes_of<V> == 0, no_value, value4>;

/// Returns into how many parts an input is cut for so many threads: some for each, as long as they are worth it, of what
/// a thread has in its cache from when it looks for places until it moves keys.
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

/// Sorts around misplaced keys. Parts: in_parts_alone, or what has a size and calls work(part) for each of as many
/// parts, or of fewer, on all threads.
template <class K, class V, class Parts>
class misplaced_sorter {
 public:
  using misplaced_records = split_records<K, misplaced_value<V>>;

  misplaced_sorter(const keys::codec_of<K>& codec, const K* keys, std::uint64_t num_keys, const Parts& parts)
      : codec_(codec), keys_(keys), num_keys_(num_keys), parts_(parts), num_parts_(parts.size()) {}

  /// Finds the misplaced keys. Returns false where they are too many, or where there is no memory for as many as
  /// there may be: `memory` is used where it suffices.
  bool find(std::span<std::byte> memory = {}) {
    if (!take_room(memory)) return false;
    for (std::uint64_t p = 0; p < num_parts_; ++p) borders_[p] = {num_keys_ / num_parts_ * p, 0, 0, 0};
    borders_[num_parts_] = {num_keys_, 0, 0, 0};
    const std::uint64_t most_of_part = room_.most / num_parts_;
    std::atomic<bool> are_few = true;
    parts_(num_parts_, [&](std::uint64_t p) {
      if (!are_few.load(std::memory_order_relaxed)) return;
      border& of = borders_[p];
      of.rank = find_in(of.begin, borders_[p + 1].begin, room_.positions + p * most_of_part, most_of_part);
      if (of.rank == too_many) are_few.store(false, std::memory_order_relaxed);
    });
    if (!are_few) return false;
    for (std::uint64_t p = 0; p < num_parts_; ++p) {
      const std::uint64_t count = borders_[p].rank;
      std::memmove(room_.positions + count_, room_.positions + p * most_of_part, count * sizeof(std::uint32_t));
      count_ += count;
    }
    for (std::uint64_t p = 1; p < num_parts_; ++p) {
      if (!join_at(borders_[p].begin)) return false;
    }
    return true;
  }

  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }

  /// Sorts records in place. sort(misplaced, spare, count) sorts misplaced keys, with their origins as values of 4 bytes
  /// where records have values, stably then. Nothing has been overwritten before, for it may throw.
  template <class Sort>
  void sort_records(split_records<K, V> records, const Sort& sort) {
    sort_misplaced(sort);
    if constexpr (has_values) {
      for_all([&](std::uint64_t i) { room_.values[i] = records.values[position_of(i)]; });
    }
    cut();
    while (num_parts_ > 1 && num_crossing() > room_.most) join_parts();
    parts_(num_parts_, [&](std::uint64_t p) {
      find_places(p);
      if constexpr (has_values) move(p, records.values, room_.values, room_.crossing_values);
      move(p, records.keys, room_.keys, room_.crossing_keys);
    });
    for (std::uint64_t p = 1; p < num_parts_; ++p) {
      const border& b = borders_[p];
      const std::uint64_t count = borders_[p + 1].crossing - b.crossing;
      const std::uint64_t to = b.shift() < 0 ? b.begin - count : b.begin;
      std::memcpy(records.keys + to, room_.crossing_keys + b.crossing, count * sizeof(K));
      if constexpr (has_values) {
        std::memcpy(static_cast<void*>(records.values + to), room_.crossing_values + b.crossing, count * sizeof(V));
      }
    }
  }

  /// Writes the order of the keys.
  template <class Index, class Sort>
  void write_order(Index* indices, const Sort& sort) {
    sort_misplaced(sort);
    cut();
    parts_(num_parts_, [&](std::uint64_t p) {
      find_places(p);
      write_indices(p, indices);
    });
  }

 private:
  static constexpr bool has_values = value_bytes_of<V> != 0;
  /// The begin of a part.
  struct border {
    std::uint64_t begin;
    std::uint64_t rank;      ///< how many misplaced keys lie before
    std::uint64_t cut;       ///< how many belong there
    std::uint64_t crossing;  ///< where what crosses the border waits

    /// Returns by how many places keys there move.
    [[nodiscard]] std::int64_t shift() const noexcept {
      return static_cast<std::int64_t>(cut) - static_cast<std::int64_t>(rank);
    }
  };

  struct key_range {
    std::uint64_t begin;
    std::uint64_t end;
  };

  static constexpr std::uint64_t too_many = ~std::uint64_t{0};

  [[nodiscard]] K rank(std::uint64_t i) const noexcept { return codec_.encode(keys_[i]); }

  /// Takes the given memory, what the thread keeps, or new memory.
  bool take_room(std::span<std::byte> memory) {
    room_.most = most_misplaced<K, V>(num_keys_);
    constexpr std::uint64_t line = 64;
    const auto bytes_of = [&](std::uint64_t size) { return base::round_up(room_.most * size + 1, line); };
    const std::uint64_t borders_bytes = base::round_up((num_parts_ + 1) * sizeof(border), line);
    constexpr std::uint64_t kept_bytes = std::uint64_t{1} << 18;
    const std::uint64_t needed =
        3 * bytes_of(sizeof(std::uint32_t)) + 2 * bytes_of(sizeof(K)) + 2 * bytes_of(value_bytes_of<V>) + borders_bytes;
    std::byte* data = nullptr;
    if (needed + line <= memory.size()) {
      data = memory.data() + line - reinterpret_cast<std::uintptr_t>(memory.data()) % line;
    } else if (needed <= kept_bytes) {
      thread_local const aligned_array<std::byte> kept = make_aligned<std::byte>(kept_bytes);
      data = kept.get();
    } else {
      try {
        memory_ = make_aligned<std::byte>(needed);
      } catch (const std::bad_alloc&) {
        return false;
      }
      data = memory_.get();
    }
    const auto take = [&]<class T>(T*& array) {
      array = reinterpret_cast<T*>(data);
      data += bytes_of(sizeof(T));
    };
    borders_ = reinterpret_cast<border*>(data);
    data += borders_bytes;
    take(room_.positions);
    take(room_.origins);
    take(room_.places);
    take(room_.keys);
    take(room_.crossing_keys);
    if constexpr (has_values) {
      take(room_.values);
      take(room_.crossing_values);
    }
    return true;
  }

  /// Writes the positions of keys in a part that are misplaced among it. Returns their number, or that they are too
  /// many.
  std::uint64_t find_in(std::uint64_t begin, std::uint64_t end, std::uint32_t* positions, std::uint64_t most) const {
    constexpr std::uint64_t block_keys = 1024;
    constexpr std::uint64_t of_chance = misplaced_by_chance;
    std::uint64_t count = 0;
    std::uint64_t next = begin;  // those before have been looked at
    for (std::uint64_t block = begin; block + 1 < end; block += block_keys) {
      if (next >= block + block_keys) continue;
      std::uint64_t falls[block_keys / 64];
      const std::uint64_t num_pairs = std::min(block_keys, end - 1 - block);
      mark_falls(codec_, keys_ + block, num_pairs, falls);
      for (std::uint64_t word = 0; word < base::ceil_div(num_pairs, std::uint64_t{64}); ++word) {
        for (std::uint64_t bits = falls[word]; bits != 0; bits &= bits - 1) {
          std::uint64_t last = block + 64 * word + static_cast<unsigned>(std::countr_zero(bits));  // of those in order
          if (last < next) continue;
          next = last + 1;
          while (next < end && rank(next) < rank(last)) {
            if (count >= most || count > of_chance + (next - begin) * room_.most / num_keys_) return too_many;
            if (is_left_misplaced(positions, count, last, next, {begin, end})) {
              std::uint64_t at = insert(positions, count, last);
              if (!step_back(positions, at, last, begin)) break;
            } else {
              insert(positions, count, next++);
            }
          }
        }
      }
    }
    return count;
  }

  /// Returns which of two neighbours among the keys that are left, of which the right one is lower, is misplaced: it
  /// takes fewer others with it. The left one takes those before it that are above the right one, which takes those
  /// behind it that are below the left one.
  [[nodiscard]] bool is_left_misplaced(const std::uint32_t* positions, std::uint64_t count, std::uint64_t left,
                                       std::uint64_t right, key_range within) const {
    constexpr std::uint64_t most_steps = 32;
    const K high = rank(left);
    const K low = rank(right);
    std::uint64_t at = count;
    while (at > 0 && positions[at - 1] > left) --at;
    std::uint64_t before = left;
    for (std::uint64_t step = 1; step <= most_steps; ++step) {
      if (right + step >= within.end || rank(right + step) >= high) return false;
      if (!step_back(positions, at, before, within.begin) || rank(before) <= low) return true;
    }
    return false;
  }

  /// Notes a position among the ascending ones, of which it is one of the last. Returns where.
  static std::uint64_t insert(std::uint32_t* positions, std::uint64_t& count, std::uint64_t position) {
    std::uint64_t at = count++;
    for (; at > 0 && positions[at - 1] > position; --at) positions[at] = positions[at - 1];
    positions[at] = static_cast<std::uint32_t>(position);
    return at;
  }

  /// Goes from a key to the one before it that is left. `at` is the place of the first noted position that is not below.
  /// Returns false where there is none.
  static bool step_back(const std::uint32_t* positions, std::uint64_t& at, std::uint64_t& key, std::uint64_t begin) {
    std::uint64_t before = key;
    for (; at > 0 && positions[at - 1] + 1 == before; --at) --before;
    if (before == begin) return false;
    key = before - 1;
    return true;
  }

  /// Sees to it that keys in order on both sides of a part's begin are so together. Returns false where these are too
  /// many to be misplaced.
  bool join_at(std::uint64_t begin) {
    constexpr unsigned most_steps = 64;
    for (unsigned step = 0; step < most_steps; ++step) {
      const std::uint32_t* const end = room_.positions + count_;
      const auto from = static_cast<std::uint64_t>(
          std::lower_bound(static_cast<const std::uint32_t*>(room_.positions), end, begin) - room_.positions);
      std::uint64_t left = begin;
      for (std::uint64_t at = from; at > 0 && room_.positions[at - 1] + 1 == left; --at) --left;
      std::uint64_t right = begin;
      std::uint64_t at = from;
      for (; at < count_ && room_.positions[at] == right; ++at) ++right;
      if (left == 0 || right == num_keys_ || rank(left - 1) <= rank(right)) return true;
      if (count_ == room_.most) return false;
      const bool leaves = is_left_misplaced(room_.positions, at, left - 1, right, {0, num_keys_});
      insert(room_.positions, count_, leaves ? left - 1 : right);
    }
    return false;
  }

  /// Returns where the misplaced key lay that is the r-th in the sorted order.
  [[nodiscard]] std::uint64_t position_of(std::uint64_t r) const { return room_.positions[room_.origins[r]]; }

  /// Calls work(i) for each misplaced key.
  template <class Work>
  void for_all(const Work& work) const {
    if (num_parts_ == 1) {
      for (std::uint64_t i = 0; i < count_; ++i) work(i);
      return;
    }
    parts_(num_parts_, [&](std::uint64_t p) {
      const std::uint64_t end = count_ * (p + 1) / num_parts_;
      for (std::uint64_t i = count_ * p / num_parts_; i < end; ++i) work(i);
    });
  }

  template <class Sort>
  void sort_misplaced(const Sort& sort) {
    for_all([&](std::uint64_t i) {
      room_.keys[i] = keys_[room_.positions[i]];
      if constexpr (is_stable) room_.origins[i] = static_cast<std::uint32_t>(i);
    });
    if constexpr (is_stable) {
      sort(misplaced_records{room_.keys, reinterpret_cast<value4*>(room_.origins)},
           misplaced_records{room_.crossing_keys, reinterpret_cast<value4*>(room_.places)}, count_);
    } else {
      sort(misplaced_records{room_.keys, nullptr}, misplaced_records{room_.crossing_keys, nullptr}, count_);
    }
  }

  /// Returns whether the r-th sorted misplaced key belongs before a key in order.
  [[nodiscard]] bool belongs_before(std::uint64_t r, std::uint64_t i) const {
    const K misplaced = codec_.encode(room_.keys[r]);
    const K other = rank(i);
    if constexpr (is_stable) return misplaced < other || (misplaced == other && position_of(r) < i);
    return misplaced < other;
  }

  /// Finds which misplaced keys lie before each part, and which belong there.
  void cut() {
    std::uint64_t cut = 0;
    for (std::uint64_t p = 0; p <= num_parts_; ++p) {
      border& b = borders_[p];
      const std::uint32_t* const end = room_.positions + count_;
      b.rank = static_cast<std::uint64_t>(
          std::lower_bound(static_cast<const std::uint32_t*>(room_.positions), end, b.begin) - room_.positions);
      std::uint64_t first = b.begin;  // in order
      for (std::uint64_t at = b.rank; at < count_ && room_.positions[at] == first; ++at) ++first;
      std::uint64_t high = p == 0 ? 0 : count_;
      while (cut < high) {
        const std::uint64_t middle = cut + (high - cut) / 2;
        if (first == num_keys_ || belongs_before(middle, first)) {
          cut = middle + 1;
        } else {
          high = middle;
        }
      }
      b.cut = cut;
    }
    count_crossing();
  }

  /// Says where what crosses each border waits.
  void count_crossing() {
    std::uint64_t crossing = 0;
    for (std::uint64_t p = 0; p <= num_parts_; ++p) {
      borders_[p].crossing = crossing;
      crossing += static_cast<std::uint64_t>(std::abs(borders_[p].shift()));
    }
  }
  [[nodiscard]] std::uint64_t num_crossing() const { return borders_[num_parts_].crossing; }

  /// Joins neighbouring parts, where many keys belong to others.
  void join_parts() {
    for (std::uint64_t p = 1; 2 * p < num_parts_; ++p) borders_[p] = borders_[2 * p];
    const border end = borders_[num_parts_];
    num_parts_ = base::ceil_div(num_parts_, std::uint64_t{2});
    borders_[num_parts_] = end;
    count_crossing();
  }

  /// Finds the places of misplaced keys that come to a part.
  void find_places(std::uint64_t p) const {
    const auto& [begin_of_part, rank_of_part, first, crossing] = borders_[p];
    const auto& [end, last_rank, last_cut, next_crossing] = borders_[p + 1];
    std::uint64_t r = first;
    std::uint64_t begin = begin_of_part;
    for (std::uint64_t at = rank_of_part; at <= last_rank && r < last_cut; ++at) {
      const std::uint64_t until = at < last_rank ? room_.positions[at] : end;
      while (r < last_cut && begin < until && belongs_before(r, until - 1)) {
        begin = find_place(r, begin, until);
        room_.places[r++] = static_cast<std::uint32_t>(begin);
      }
      begin = until + 1;
    }
    std::fill(room_.places + r, room_.places + last_cut, static_cast<std::uint32_t>(end));
  }

  /// Returns the first of neighbours in order before which a misplaced key belongs; one is.
  [[nodiscard]] std::uint64_t find_place(std::uint64_t r, std::uint64_t begin, std::uint64_t end) const {
    const K misplaced = codec_.encode(room_.keys[r]);
    bool goes_first = false;  // among equal keys
    if constexpr (is_stable) goes_first = position_of(r) < begin;
    std::uint64_t length = end - begin;
    while (length > 1) {
      const std::uint64_t half = length / 2;
      const K other = rank(begin + half - 1);
      const bool is_before = goes_first ? misplaced <= other : misplaced < other;
      begin += is_before ? 0 : half;
      length -= half;
    }
    return begin;
  }

  /// The events of a part, in the order of the source: keys that leave and keys that come.
  struct cursor {
    std::uint64_t at;  ///< next position that leaves
    std::uint64_t r;   ///< next sorted key that comes
  };

  /// Moves the elements of a part, of which misplaced ones are given sorted.
  template <class T>
  void move(std::uint64_t p, T* data, const T* misplaced, T* crossing) const {
    const std::uint64_t begin = borders_[p].begin;
    const std::uint64_t end = borders_[p + 1].begin;
    const std::int64_t first_shift = borders_[p].shift();
    T* const left = crossing + borders_[p].crossing;       // for what leaves the part to the left
    T* const right = crossing + borders_[p + 1].crossing;  // and to the right
    const std::uint64_t left_begin = begin + static_cast<std::uint64_t>(std::min<std::int64_t>(first_shift, 0));
    const auto put = [&](std::uint64_t to, const T* from, std::uint64_t count) {
      if (to < begin) {
        const std::uint64_t num_left = std::min(count, begin - to);
        std::memcpy(static_cast<void*>(left + (to - left_begin)), from, num_left * sizeof(T));
        to += num_left;
        from += num_left;
        count -= num_left;
      }
      const std::uint64_t num_right = to + count > end ? std::min(count, to + count - end) : 0;
      count -= num_right;
      if (num_right != 0) {
        std::memcpy(static_cast<void*>(right + (to + count - end)), from + count, num_right * sizeof(T));
      }
      if (count != 0 && data + to != from) std::memmove(static_cast<void*>(data + to), from, count * sizeof(T));
    };
    const cursor last{borders_[p + 1].rank, borders_[p + 1].cut};
    cursor c{borders_[p].rank, borders_[p].cut};
    std::uint64_t source = begin;
    std::int64_t shift = first_shift;
    while (true) {
      const bool comes = c.r < last.r && (c.at == last.at || room_.places[c.r] <= room_.positions[c.at]);
      if (shift > 0 || (shift == 0 && comes)) {
        // Keys move to the right until the shift is none: from the last of them on.
        cursor e = c;
        std::int64_t end_shift = shift;
        std::uint64_t from_end = end;
        while (e.at < last.at || e.r < last.r) {
          if (e.r < last.r && (e.at == last.at || room_.places[e.r] <= room_.positions[e.at])) {
            ++e.r;
            ++end_shift;
          } else {
            ++e.at;
            if (--end_shift == 0) break;
          }
        }
        const bool is_closed = end_shift == 0 && e.at > c.at;
        cursor b = e;
        std::int64_t s = end_shift;
        while (b.at > c.at || b.r > c.r) {
          const bool came = b.r > c.r && (b.at == c.at || room_.places[b.r - 1] > room_.positions[b.at - 1]);
          if (came) {
            const std::uint64_t place = room_.places[--b.r];
            put(place + static_cast<std::uint64_t>(s), data + place, from_end - place);
            put(place + static_cast<std::uint64_t>(s) - 1, misplaced + b.r, 1);
            --s;
            from_end = place;
          } else {
            const std::uint64_t gone = room_.positions[--b.at];
            if (!(is_closed && b.at == e.at - 1)) {
              put(gone + 1 + static_cast<std::uint64_t>(s), data + gone + 1, from_end - gone - 1);
            }
            ++s;
            from_end = gone;
          }
        }
        put(source + static_cast<std::uint64_t>(s), data + source, from_end - source);
        if (!is_closed) return;
        source = room_.positions[e.at - 1] + std::uint64_t{1};
        c = e;
        shift = 0;
        continue;
      }
      const std::uint64_t until = comes ? room_.places[c.r] : c.at < last.at ? room_.positions[c.at] : end;
      put(source + static_cast<std::uint64_t>(shift), data + source, until - source);
      source = until;
      if (comes) {
        put(source + static_cast<std::uint64_t>(shift), misplaced + c.r++, 1);
        ++shift;
      } else if (c.at < last.at) {
        ++c.at;
        ++source;
        --shift;
      } else {
        return;
      }
    }
  }

  template <class Index>
  void write_indices(std::uint64_t p, Index* indices) const {
    const cursor last{borders_[p + 1].rank, borders_[p + 1].cut};
    cursor c{borders_[p].rank, borders_[p].cut};
    std::uint64_t source = borders_[p].begin;
    Index* to = indices + (source + static_cast<std::uint64_t>(borders_[p].shift()));
    while (true) {
      const bool comes = c.r < last.r && (c.at == last.at || room_.places[c.r] <= room_.positions[c.at]);
      const std::uint64_t until = comes            ? room_.places[c.r]
                                  : c.at < last.at ? room_.positions[c.at]
                                                   : borders_[p + 1].begin;
      write_positions(to, until - source, source);
      to += until - source;
      source = until;
      if (comes) {
        (to++)->word = static_cast<decltype(to->word)>(position_of(c.r++));
      } else if (c.at < last.at) {
        ++c.at;
        ++source;
      } else {
        return;
      }
    }
  }

  static constexpr bool is_stable = has_values;

  const keys::codec_of<K> codec_;
  const K* const keys_;
  const std::uint64_t num_keys_;
  const Parts parts_;
  std::uint64_t num_parts_;
  std::uint64_t count_ = 0;
  misplaced_room<K, V> room_;
  aligned_array<std::byte> memory_;
  border* borders_ = nullptr;  ///< of the parts, and the end
};

}  // namespace spansort::device::host
