// SPDX-License-Identifier: Apache-2.0
// The moves of keys in order but for a few: each stretch between two misplaced keys, or between two places where these
// belong, moves by as many places as misplaced keys come before it less those that leave before it. Stretches that move
// down go first to last, those that move up last to first, so that all are moved in place, and once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "device/host/write_positions.hpp"

namespace spansort::device::host {

/// This tells where a part of the input begins, and what crosses there.
struct part_bound {
  std::uint64_t begin = 0;
  std::uint64_t num_leaving = 0;  ///< misplaced keys that lie before
  std::uint64_t num_coming = 0;   ///< misplaced keys that belong before
  std::uint64_t crossing = 0;     ///< the place of the first element that waits to cross

  /// Returns by how many places keys there move.
  [[nodiscard]] std::int64_t shift() const noexcept {
    return static_cast<std::int64_t>(num_coming) - static_cast<std::int64_t>(num_leaving);
  }
};

/// What happens in a part, in the order of the source: misplaced keys leave, and sorted ones come.
class misplaced_events {
 public:
  /// The events that are next.
  struct cursor {
    std::uint64_t leaving = 0;
    std::uint64_t coming = 0;

    friend bool operator==(cursor, cursor) = default;
  };

  /// `positions`: where misplaced keys lie; `places`: before which keys the sorted ones belong. Both ascend.
  misplaced_events(const std::uint32_t* positions, const std::uint32_t* places, const part_bound& begin,
                   const part_bound& end)
      : first{begin.num_leaving, begin.num_coming},
        last{end.num_leaving, end.num_coming},
        positions_(positions),
        places_(places) {}

  [[nodiscard]] std::uint64_t leaving_at(std::uint64_t event) const noexcept { return positions_[event]; }
  [[nodiscard]] std::uint64_t coming_to(std::uint64_t event) const noexcept { return places_[event]; }

  /// Returns whether a key comes next.
  [[nodiscard]] bool comes_next(cursor c) const noexcept {
    return c.coming < last.coming && (c.leaving == last.leaving || places_[c.coming] <= positions_[c.leaving]);
  }
  /// Returns whether a key has come last, of what has happened since.
  [[nodiscard]] bool came_last(cursor c, cursor since) const noexcept {
    return c.coming > since.coming && (c.leaving == since.leaving || places_[c.coming - 1] > positions_[c.leaving - 1]);
  }

  const cursor first;
  const cursor last;

 private:
  const std::uint32_t* const positions_;
  const std::uint32_t* const places_;
};

/// Moves the elements of one part: keys, or values.
template <class T>
class part_mover {
 public:
  /// `misplaced`: those of misplaced keys, sorted. `crossing`: what leaves the part waits there.
  part_mover(const misplaced_events& events, const part_bound& begin, const part_bound& end, T* data,
             const T* misplaced, T* crossing)
      : events_(events),
        begin_(begin.begin),
        end_(end.begin),
        data_(data),
        misplaced_(misplaced),
        to_left_(crossing + begin.crossing),
        to_right_(crossing + end.crossing),
        left_begin_(begin.begin + static_cast<std::uint64_t>(std::min<std::int64_t>(begin.shift(), 0))),
        next_(events.first),
        source_(begin.begin),
        shift_(begin.shift()) {}

  void move() {
    while (true) {
      const bool comes = events_.comes_next(next_);
      const bool moves_up = shift_ > 0 || (shift_ == 0 && comes);
      if (!(moves_up ? move_up() : move_down(comes))) return;
    }
  }

 private:
  using cursor = misplaced_events::cursor;

  /// Moves a stretch down, and the event behind it. Returns false at the end of the part.
  bool move_down(bool comes) {
    const bool leaves = !comes && next_.leaving < events_.last.leaving;
    const std::uint64_t until = comes    ? events_.coming_to(next_.coming)
                                : leaves ? events_.leaving_at(next_.leaving)
                                         : end_;
    put(source_, shift_, until - source_);
    source_ = until;
    if (comes) {
      put(place(source_, shift_), misplaced_ + next_.coming++, 1);
      ++shift_;
    } else if (leaves) {
      ++next_.leaving;
      ++source_;
      --shift_;
    }
    return comes || leaves;
  }

  /// Moves stretches up, from the last one on before the shift is none. Returns false at the end of the part.
  bool move_up() {
    cursor c = next_;
    std::int64_t shift = shift_;
    bool is_closed = false;  // by a key that leaves
    while (!is_closed && c != events_.last) {
      if (events_.comes_next(c)) {
        ++c.coming;
        ++shift;
      } else {
        ++c.leaving;
        is_closed = --shift == 0;
      }
    }
    const std::uint64_t next_source = is_closed ? events_.leaving_at(c.leaving - 1) + 1 : end_;
    const cursor next = c;
    std::uint64_t stretch_end = next_source;
    while (c != next_) {
      if (events_.came_last(c, next_)) {
        const std::uint64_t from = events_.coming_to(--c.coming);
        put(from, shift, stretch_end - from);
        --shift;
        put(place(from, shift), misplaced_ + c.coming, 1);
        stretch_end = from;
      } else {
        const std::uint64_t gone = events_.leaving_at(--c.leaving);
        put(gone + 1, shift, stretch_end - gone - 1);
        ++shift;
        stretch_end = gone;
      }
    }
    put(source_, shift, stretch_end - source_);
    next_ = next;
    source_ = next_source;
    shift_ = 0;
    return is_closed;
  }

  static std::uint64_t place(std::uint64_t source, std::int64_t shift) noexcept {
    return source + static_cast<std::uint64_t>(shift);
  }

  void put(std::uint64_t from, std::int64_t shift, std::uint64_t count) const {
    if (shift != 0 && count != 0) put(place(from, shift), data_ + from, count);
  }

  void put(std::uint64_t to, const T* from, std::uint64_t count) const {
    if (to < begin_) {
      const std::uint64_t num_left = std::min(count, begin_ - to);
      std::memcpy(static_cast<void*>(to_left_ + (to - left_begin_)), from, num_left * sizeof(T));
      to += num_left;
      from += num_left;
      count -= num_left;
    }
    if (to + count > end_) {
      const std::uint64_t num_right = std::min(count, to + count - end_);
      count -= num_right;
      std::memcpy(static_cast<void*>(to_right_ + (to + count - end_)), from + count, num_right * sizeof(T));
    }
    std::memmove(static_cast<void*>(data_ + to), from, count * sizeof(T));
  }

  const misplaced_events& events_;
  const std::uint64_t begin_;
  const std::uint64_t end_;
  T* const data_;
  const T* const misplaced_;
  T* const to_left_;
  T* const to_right_;
  const std::uint64_t left_begin_;  ///< where the first element goes that leaves the part to the left
  cursor next_;
  std::uint64_t source_;
  std::int64_t shift_;
};

/// Writes the order of a part; origin(i) is where the i-th of the sorted misplaced keys lay.
template <class Index, class Origin>
void write_part_order(const misplaced_events& events, const part_bound& begin, const part_bound& end, Index* indices,
                      const Origin& origin) {
  misplaced_events::cursor next = events.first;
  std::uint64_t source = begin.begin;
  Index* to = indices + (source + static_cast<std::uint64_t>(begin.shift()));
  while (true) {
    const bool comes = events.comes_next(next);
    const bool leaves = !comes && next.leaving < events.last.leaving;
    const std::uint64_t until = comes    ? events.coming_to(next.coming)
                                : leaves ? events.leaving_at(next.leaving)
                                         : end.begin;
    write_positions(to, until - source, source);
    to += until - source;
    source = until;
    if (comes) {
      (to++)->word = static_cast<decltype(to->word)>(origin(next.coming++));
    } else if (leaves) {
      ++next.leaving;
      ++source;
    } else {
      return;
    }
  }
}

}  // namespace spansort::device::host
