// SPDX-License-Identifier: Apache-2.0
// Keys that have to be removed for the others to be in order, where these are few: a classic measure of presortedness,
// Rem (Mannila, IEEE Transactions on Computers C-34(4), 1985).
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>

#include "base/math.hpp"
#include "device/host/records.hpp"
#include "device/host/vector_kernels.hpp"

namespace spansort::device::host {

/// This is how many keys an input has at least whose misplaced keys are looked for. Of 2^10 u32 in order but for a
/// hundredth a sort takes as long.
template <class K>
inline constexpr std::uint64_t fewest_around_misplaced = std::uint64_t{1} << (sizeof(K) == 8 ? 10 : 11);
/// Few keys may happen to have so many misplaced ones more than their share.
inline constexpr std::uint64_t misplaced_by_chance = 8;

/// Returns how many keys of so many may be misplaced for it to pay to sort around them. One takes as long as so many
/// others do in a sort: on one thread of a Granite Rapids 75 ns among u32 and 125 among pairs of u32, when the
/// processor has not learned where they lie.
template <class K, class V>
[[nodiscard]] constexpr std::uint64_t most_misplaced(std::uint64_t num_keys) noexcept {
  constexpr bool are_wide = sizeof(K) == 8;
  constexpr bool are_alone = value_bytes_of<V> == 0;
  std::uint64_t share = 0;
  if (num_keys < std::uint64_t{1} << 11) {
    share = 64;
  } else if (num_keys < std::uint64_t{1} << 17) {
    share = are_wide ? 32 : are_alone ? 64 : 40;
  } else {
    share = are_wide ? 20 : are_alone ? 32 : 24;
  }
  return misplaced_by_chance + num_keys / share;
}

/// Returns whether keys may be in order but for a few: whether sampled ones mostly are, and their right neighbours are
/// not below them. Keys in no order are known by the first eight, and those of a few runs by two samples that are below
/// the two before them.
template <class K>
[[nodiscard]] bool may_be_nearly_ordered(const keys::codec_of<K>& codec, const K* keys, std::uint64_t num_keys) {
  if (num_keys < fewest_around_misplaced<K> || num_keys > std::numeric_limits<std::uint32_t>::max()) return false;
  const auto falls_at_most = [&](std::uint64_t num_samples, unsigned most) {
    const std::uint64_t step = (num_keys - 1) / num_samples;
    K before[3] = {codec.encode(keys[0]), 0, 0};  // the last one first
    unsigned falls = 0;
    bool are_runs = false;
    for (std::uint64_t s = 0, i = step / 2; s < num_samples; ++s, i += step) {
      const K sampled = codec.encode(keys[i]);
      falls += (sampled < before[0] ? 1U : 0U) + (codec.encode(keys[i + 1]) < sampled ? 1U : 0U);
      are_runs |= std::max(sampled, before[0]) < std::min(before[1], before[2]);
      before[2] = before[1];
      before[1] = before[0];
      before[0] = sampled;
    }
    return !are_runs && falls <= most;
  };
  constexpr std::uint64_t few_keys = std::uint64_t{1} << 14;
  return falls_at_most(8, 3) && (num_keys < few_keys ? falls_at_most(32, 5) : falls_at_most(64, 8));
}

/// Positions of misplaced keys, ascending.
struct misplaced_positions {
  std::uint32_t* data = nullptr;
  std::uint64_t count = 0;
  std::uint64_t most = 0;  ///< there is room for

  /// Notes a position, which is one of the last.
  void insert(std::uint64_t position) noexcept {
    std::uint64_t at = count++;
    for (; at > 0 && data[at - 1] > position; --at) data[at] = data[at - 1];
    data[at] = static_cast<std::uint32_t>(position);
  }
  /// Returns how many are below a position.
  [[nodiscard]] std::uint64_t count_below(std::uint64_t position) const {
    const std::uint32_t* const begin = data;
    return static_cast<std::uint64_t>(std::lower_bound(begin, begin + count, position) - begin);
  }
};

/// Finds misplaced keys.
template <class K>
class misplaced_finder {
 public:
  struct range {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
  };

  misplaced_finder(const keys::codec_of<K>& codec, const K* keys, std::uint64_t num_keys)
      : codec_(codec), keys_(keys), num_keys_(num_keys) {}

  /// Notes the positions of keys in a part that are misplaced among it. Returns false where they are more than there is
  /// room for, or than `most` for all keys allow so far, or where too many lie together.
  bool find_in(const range& part, std::uint64_t most, misplaced_positions& found) const {
    constexpr std::uint64_t block_keys = 1024;
    std::uint64_t next = part.begin;  // those before have been looked at
    for (std::uint64_t block = part.begin; block + 1 < part.end; block += block_keys) {
      if (next >= block + block_keys) continue;
      std::uint64_t falls[block_keys / 64];
      const std::uint64_t num_pairs = std::min(block_keys, part.end - 1 - block);
      mark_falls(codec_, keys_ + block, num_pairs, falls);
      for (std::uint64_t word = 0; word < base::ceil_div(num_pairs, std::uint64_t{64}); ++word) {
        for (std::uint64_t bits = falls[word]; bits != 0; bits &= bits - 1) {
          const std::uint64_t last = block + 64 * word + static_cast<unsigned>(std::countr_zero(bits));
          if (last < next) continue;
          const std::uint64_t of_share = (last - part.begin) * most / num_keys_;
          if (found.count > misplaced_by_chance + of_share || !remove_around(part, last, next, found)) return false;
        }
      }
    }
    return true;
  }

  /// Appends the positions noted in a part to those of all parts before, and sees to it that keys in order on both
  /// sides of its begin are so together. Returns false where too many are not. The lists lie one behind the other.
  bool append(std::uint64_t begin, const misplaced_positions& of_part, misplaced_positions& all) const {
    const std::uint64_t most_removed = all.count + of_part.count + most_together;
    unsigned num_unclear = 0;
    std::uint64_t taken = 0;
    std::uint64_t right = begin;
    while (true) {
      for (; taken < of_part.count && of_part.data[taken] == right; ++taken, ++right)
        all.data[all.count++] = of_part.data[taken];
      std::uint64_t at = all.count_below(begin);
      std::uint64_t left = begin;
      if (right == num_keys_ || !step_back(all, at, left, 0) || rank(left) <= rank(right)) break;
      if (all.count == most_removed || all.data + all.count == of_part.data + taken) return false;
      const side misplaced = misplaced_side(all, left, right, {0, num_keys_});
      if (misplaced == side::unclear && ++num_unclear > most_unclear) return false;
      if (misplaced == side::left) {
        all.insert(left);
      } else {
        all.data[all.count++] = static_cast<std::uint32_t>(right++);
      }
    }
    const std::uint64_t num_left = of_part.count - taken;
    std::memmove(all.data + all.count, of_part.data + taken, num_left * sizeof(std::uint32_t));
    all.count += num_left;
    return true;
  }

 private:
  /// A fall behind which more keys are misplaced is one between long runs, or in no order. Each of them takes longer
  /// the more have been removed.
  static constexpr std::uint64_t most_together = 64;
  /// Two neighbours may be misplaced both. Where that is seen so often at one fall, long runs meet.
  static constexpr unsigned most_unclear = 8;

  enum class side { left, right, unclear };

  [[nodiscard]] K rank(std::uint64_t i) const noexcept { return codec_.encode(keys_[i]); }

  /// Removes keys to the left and to the right of a fall behind the key `last`, until there is none. `next` becomes the
  /// first key behind it that is left. Returns false where they are too many.
  bool remove_around(const range& part, std::uint64_t last, std::uint64_t& next, misplaced_positions& found) const {
    const std::uint64_t most = std::min(found.most, found.count + most_together);
    unsigned num_unclear = 0;
    next = last + 1;
    while (next < part.end && rank(next) < rank(last)) {
      const side misplaced = misplaced_side(found, last, next, part);
      if (misplaced == side::unclear && ++num_unclear > most_unclear) return false;
      if (found.count == most) return false;
      if (misplaced == side::left) {
        std::uint64_t at = place_of(found, last);
        found.insert(last);
        if (!step_back(found, at, last, part.begin)) break;
      } else {
        found.insert(next++);
      }
    }
    return true;
  }

  /// Returns which of two neighbours among the keys that are left, of which the right one is lower, is misplaced: it
  /// takes fewer others with it. The left one takes those before it that are above the right one, which takes those
  /// behind it that are below the left one. Where both take many it is unclear.
  [[nodiscard]] side misplaced_side(const misplaced_positions& found, std::uint64_t left, std::uint64_t right,
                                    const range& within) const {
    constexpr std::uint64_t most_steps = most_together / 2;
    const K high = rank(left);
    const K low = rank(right);
    std::uint64_t at = place_of(found, left);
    std::uint64_t before = left;
    for (std::uint64_t step = 1; step <= most_steps; ++step) {
      if (right + step >= within.end || rank(right + step) >= high) return side::right;
      if (!step_back(found, at, before, within.begin) || rank(before) <= low) return side::left;
    }
    return side::unclear;
  }

  /// Returns the place of a key's position among those noted, of which it would be one of the last.
  static std::uint64_t place_of(const misplaced_positions& found, std::uint64_t position) {
    std::uint64_t at = found.count;
    while (at > 0 && found.data[at - 1] > position) --at;
    return at;
  }

  /// Goes from a key, or from where a part begins, to the key before that is left. `at` is the place of the first noted
  /// position that is not below. Returns false where there is none from `begin` on.
  static bool step_back(const misplaced_positions& found, std::uint64_t& at, std::uint64_t& key, std::uint64_t begin) {
    std::uint64_t before = key;
    for (; at > 0 && found.data[at - 1] + std::uint64_t{1} == before; --at) --before;
    if (before == begin) return false;
    key = before - 1;
    return true;
  }

  const keys::codec_of<K> codec_;
  const K* const keys_;
  const std::uint64_t num_keys_;
};

}  // namespace spansort::device::host
