// SPDX-License-Identifier: Apache-2.0
#include "statistics/interval_index.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/assert.hpp"

namespace spansort::statistics {
namespace {

/// Parts into which a read cuts ranges that are too large to be collected, all together.
constexpr std::uint64_t num_parts = 2048;
/// Equal parts by value for each of them at least, so that no data can keep a range from shrinking.
constexpr std::uint64_t fewest_equal_parts = 16;

void sort_unique(std::vector<std::uint64_t>& values) {
  std::ranges::sort(values);
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

std::uint64_t scaled(std::uint64_t count, std::uint64_t part, std::uint64_t whole) {
  if (whole == 0) return 0;
  return static_cast<std::uint64_t>(static_cast<double>(count) *
                                    (static_cast<double>(part) / static_cast<double>(whole)));
}

}  // namespace

std::uint64_t sorted_words::at(std::uint64_t index) const noexcept {
  std::uint64_t word = 0;  // little-endian, as everything here
  std::memcpy(&word, bytes.data() + index * word_bytes, word_bytes);
  return word;
}

std::uint64_t sorted_words::count_less(std::uint64_t begin, std::uint64_t end, std::uint64_t word) const noexcept {
  const std::uint64_t first = begin;
  while (begin < end) {
    const std::uint64_t middle = begin + (end - begin) / 2;
    if (at(middle) < word) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  return begin - first;
}

interval_index::interval_index(std::uint64_t num_keys, std::uint64_t max_key, std::vector<std::uint64_t> sample)
    : num_keys_(num_keys), max_key_(max_key), sample_(std::move(sample)) {
  intervals_.emplace_back();
  intervals_.front().count = {num_keys, 0, max_key};
}

std::uint64_t interval_index::high_of(std::size_t at) const noexcept {
  return at + 1 == intervals_.size() ? max_key_ : intervals_[at + 1].low - 1;
}

std::size_t interval_index::interval_of_rank(std::uint64_t rank) const {
  SPANSORT_ASSERT(rank < num_keys_);
  // The last that begins at the rank or before: empty ones to its left begin there, too.
  const auto behind = std::ranges::upper_bound(intervals_, rank, {}, &interval::before);
  return static_cast<std::size_t>(behind - intervals_.begin()) - 1;
}

std::size_t interval_index::interval_of_key(std::uint64_t encoded) const {
  const auto behind = std::ranges::upper_bound(intervals_, encoded, {}, &interval::low);
  return static_cast<std::size_t>(behind - intervals_.begin()) - 1;
}

std::optional<std::uint64_t> interval_index::key_at(std::uint64_t rank) const {
  const interval& at = intervals_[interval_of_rank(rank)];
  const std::uint64_t offset = rank - at.before;
  if (at.words != nullptr) return at.words->at(at.first_word + offset);
  if (!has_counts_) return std::nullopt;
  if (offset == 0) return at.count.least;
  if (offset + 1 == at.count.num_keys || at.count.least == at.count.greatest) return at.count.greatest;
  return std::nullopt;
}

std::optional<std::uint64_t> interval_index::count_before(std::uint64_t bound) const {
  if (!has_counts_) return std::nullopt;
  const interval& at = intervals_[interval_of_key(bound)];
  if (at.count.num_keys == 0 || bound <= at.count.least) return at.before;
  if (bound > at.count.greatest) return at.before + at.count.num_keys;
  if (at.words != nullptr) {
    return at.before + at.words->count_less(at.first_word, at.first_word + at.count.num_keys, bound);
  }
  // The greatest is one key or several; of two keys it is one.
  if (at.count.num_keys == 2) return at.before + 1;
  return std::nullopt;
}

encoded_range interval_index::range_of_rank(std::uint64_t rank) const {
  if (const auto key = key_at(rank)) return {*key, *key};
  const interval& at = intervals_[interval_of_rank(rank)];
  return {at.count.least, at.count.greatest};
}

std::uint64_t interval_index::about_before(std::uint64_t bound) const {
  if (const auto count = count_before(bound)) return *count;
  const std::size_t i = interval_of_key(bound);
  const auto sampled = [&](std::uint64_t value) {
    return static_cast<std::uint64_t>(std::ranges::lower_bound(sample_, value) - sample_.begin());
  };
  const std::uint64_t high = high_of(i);
  const std::uint64_t first = sampled(intervals_[i].low);
  const std::uint64_t last = high == max_key_ ? sample_.size() : sampled(high + 1);
  return intervals_[i].before + scaled(intervals_[i].count.num_keys, sampled(bound) - first, last - first);
}

std::vector<encoded_range> interval_index::unknown_of_ranks(std::uint64_t begin, std::uint64_t end) const {
  std::vector<encoded_range> ranges;
  if (begin == end) return ranges;
  for (std::size_t i = interval_of_rank(begin); i < intervals_.size() && intervals_[i].before < end; ++i) {
    const interval& at = intervals_[i];
    if (!has_counts_ || !at.is_known()) ranges.push_back({at.count.least, at.count.greatest});
  }
  return ranges;
}

std::vector<std::uint64_t> interval_index::starts_with(const index_wishes& wishes) const {
  std::vector<std::uint64_t> starts;
  for (const interval& i : intervals_) starts.push_back(i.low);
  starts.insert(starts.end(), wishes.cuts.begin(), wishes.cuts.end());
  const auto set_apart = [&](std::uint64_t low, std::uint64_t high) {
    starts.push_back(low);
    if (high < max_key_) starts.push_back(high + 1);
  };
  for (const encoded_range& r : wishes.known) set_apart(r.low, r.high);
  for (const std::uint64_t value : wishes.often) set_apart(value, value);
  sort_unique(starts);
  return starts;
}

void interval_index::mark(const index_wishes& wishes, std::uint64_t most_collected, index_read& read,
                          std::vector<encoded_range>& too_large) const {
  read.is_collected.assign(read.starts.size(), false);
  for (const encoded_range& r : wishes.known) {
    const auto first = std::ranges::lower_bound(read.starts, r.low) - read.starts.begin();
    for (auto i = static_cast<std::size_t>(first); i < read.starts.size() && read.starts[i] <= r.high; ++i) {
      const std::uint64_t low = read.starts[i];
      const std::uint64_t high = i + 1 == read.starts.size() ? max_key_ : read.starts[i + 1] - 1;
      // A single value is known by its count alone.
      if (low == high || read.is_collected[i] || intervals_[interval_of_key(low)].words != nullptr) continue;
      const std::uint64_t until = high == max_key_ ? num_keys_ : about_before(high + 1);
      const std::uint64_t expected = until - std::min(until, about_before(low));
      if (expected <= most_collected - read.expected_keys) {
        read.is_collected[i] = true;
        read.expected_keys += expected;
      } else {
        too_large.push_back({low, high});
      }
    }
  }
}

void interval_index::subdivide(const std::vector<encoded_range>& ranges, std::vector<std::uint64_t>& starts) const {
  if (ranges.empty()) return;
  const std::uint64_t parts = std::max(fewest_equal_parts, num_parts / 2 / ranges.size());
  for (const encoded_range& r : ranges) {
    const interval& known = intervals_[interval_of_key(r.low)];
    const std::uint64_t low = std::max(r.low, known.count.least);
    const std::uint64_t high = std::min(r.high, known.count.greatest);
    if (low >= high) continue;
    const std::uint64_t step = std::max<std::uint64_t>((high - low) / parts, 1);
    for (std::uint64_t i = 0; i <= parts && i * step <= high - low; ++i) starts.push_back(low + i * step);
    const auto begin = std::ranges::lower_bound(sample_, low);
    const auto sampled = static_cast<std::uint64_t>(std::ranges::upper_bound(sample_, high) - begin);
    for (std::uint64_t i = 1; i < parts && sampled > parts; ++i) {
      starts.push_back(*(begin + static_cast<std::ptrdiff_t>(sampled / parts * i)));
    }
  }
}

index_read interval_index::plan(const index_wishes& wishes, std::uint64_t most_collected) const {
  index_read read;
  read.starts = starts_with(wishes);
  std::vector<encoded_range> too_large;
  mark(wishes, most_collected, read, too_large);
  if (too_large.empty()) return read;
  // The marks are set anew, for intervals have other numbers with more starts.
  subdivide(too_large, read.starts);
  sort_unique(read.starts);
  read.expected_keys = 0;
  too_large.clear();
  mark(wishes, most_collected, read, too_large);
  return read;
}

void interval_index::take(const index_read& read, std::span<const interval_count> counts,
                          const std::shared_ptr<const sorted_words>& collected) {
  SPANSORT_ASSERT(counts.size() == read.starts.size());
  std::vector<interval> taken(counts.size());
  std::uint64_t before = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    interval& t = taken[i];
    t.low = read.starts[i];
    t.before = before;
    t.count = counts[i];
    before += counts[i].num_keys;
    const interval& old = intervals_[interval_of_key(t.low)];
    if (read.is_collected[i] && collected != nullptr) {
      t.words = collected;
    } else if (old.words != nullptr) {
      t.words = old.words;
    } else {
      continue;
    }
    t.first_word = t.words->count_less(0, t.words->num_words, t.low);
  }
  SPANSORT_ASSERT(before == num_keys_);
  intervals_ = std::move(taken);
  has_counts_ = true;
}

}  // namespace spansort::statistics
