// SPDX-License-Identifier: Apache-2.0
#include "statistics/sorted_keys.hpp"

#include <algorithm>
#include <cstring>

#include "base/assert.hpp"

namespace spansort::statistics {

template <class Holds>
std::uint64_t sorted_keys::first_that(std::uint64_t begin, std::uint64_t end, const Holds& holds) {
  while (begin < end) {
    const std::uint64_t middle = begin + (end - begin) / 2;
    if (holds(middle)) {
      end = middle;
    } else {
      begin = middle + 1;
    }
  }
  return end;
}

sorted_keys::sorted_keys(sorted_source source, bool descending)
    : ordered_keys(source.type, descending),
      source_(std::move(source)),
      is_opposite_(source_.is_descending != descending),
      num_numbers_(source_.num_keys) {
  const key_bound nans = first_nan();
  if (nans.is_end) return;
  num_numbers_ = first_that(0, source_.num_keys,
                            [&](std::uint64_t position) { return encode(bits_at_position(position)) >= nans.encoded; });
}

std::uint64_t sorted_keys::bits_at_position(std::uint64_t position) const {
  std::uint64_t bits = 0;  // little-endian, as keys are
  source_.read(position, 1, &bits);
  return bits;
}

std::uint64_t sorted_keys::turned(std::uint64_t at) const noexcept {
  if (!is_opposite_) return at;
  return at < num_numbers_ ? num_numbers_ - 1 - at : source_.num_keys - 1 - (at - num_numbers_);
}

std::vector<std::uint64_t> sorted_keys::bits_at(const std::vector<std::uint64_t>& ranks) const {
  std::vector<std::uint64_t> bits;
  bits.reserve(ranks.size());
  for (const std::uint64_t rank : ranks) {
    SPANSORT_ASSERT(rank < source_.num_keys);
    bits.push_back(bits_at_position(turned(rank)));
  }
  return bits;
}

std::vector<std::uint64_t> sorted_keys::count_before(const std::vector<key_bound>& bounds) const {
  const key_bound nans = first_nan();
  std::vector<std::uint64_t> before;
  for (const key_bound& b : bounds) {
    if (b.is_end) {
      before.push_back(source_.num_keys);
    } else if (b.encoded >= nans.encoded && !nans.is_end) {
      before.push_back(num_numbers_);
    } else {
      before.push_back(first_that(
          0, num_numbers_, [&](std::uint64_t rank) { return encode(bits_at_position(turned(rank))) >= b.encoded; }));
    }
  }
  return before;
}

std::vector<std::byte> sorted_keys::slice(std::uint64_t begin, std::uint64_t end) const {
  SPANSORT_ASSERT(begin <= end && end <= source_.num_keys);
  std::vector<std::byte> keys((end - begin) * key_bytes());
  if (!is_opposite_) {
    source_.read(begin, end - begin, keys.data());
    return keys;
  }
  // Numbers and NaN keys, each read together and turned round.
  const auto read_turned = [&](std::uint64_t from, std::uint64_t to) {
    if (from >= to) return;
    std::byte* const first = keys.data() + (from - begin) * key_bytes();
    source_.read(turned(to - 1), to - from, first);
    for (std::uint64_t low = 0, high = to - from - 1; low < high; ++low, --high) {
      std::swap_ranges(first + low * key_bytes(), first + (low + 1) * key_bytes(), first + high * key_bytes());
    }
  };
  read_turned(begin, std::min(end, num_numbers_));
  read_turned(std::max(begin, num_numbers_), end);
  return keys;
}

std::vector<std::uint64_t> sorted_keys::first_positions(std::uint64_t count) const {
  SPANSORT_ASSERT(count <= source_.num_keys);
  std::vector<std::uint64_t> positions;
  positions.reserve(count);
  // In the opposite order equal keys are still wanted from the first to the last: run after run, from the end.
  std::uint64_t run_end = is_opposite_ ? num_numbers_ : 0;
  while (is_opposite_ && run_end > 0 && positions.size() < count) {
    // Keys are read a block at a time, for a key of a GPU takes as long to read as a block of them.
    constexpr std::uint64_t least_block = 64;
    constexpr std::uint64_t most_block = 65'536;
    const std::uint64_t begin = run_end - std::min(run_end, std::clamp(count, least_block, most_block));
    std::vector<std::byte> block((run_end - begin) * key_bytes());
    source_.read(begin, run_end - begin, block.data());
    const auto tie_at = [&](std::uint64_t position) {
      return ties_of(bits_of_key(block.data(), position - begin, key_bytes())).begin.encoded;
    };
    while (run_end > begin && positions.size() < count) {
      const std::uint64_t first = tie_at(run_end - 1);
      std::uint64_t run_begin = run_end - 1;
      while (run_begin > begin && tie_at(run_begin - 1) <= first) --run_begin;
      if (run_begin == begin) {
        run_begin = first_that(0, begin, [&](std::uint64_t position) {
          return ties_of(bits_at_position(position)).begin.encoded <= first;
        });
      }
      for (std::uint64_t p = run_begin; p < run_end && positions.size() < count; ++p) positions.push_back(p);
      run_end = run_begin;
    }
  }
  while (positions.size() < count) positions.push_back(positions.size());
  return positions;
}

}  // namespace spansort::statistics
