// SPDX-License-Identifier: Apache-2.0
// An interval index holds what reads of keys have shown of their distribution: how many encoded keys lie in each of
// some intervals, the least and the greatest of each, and all keys of those that were collected. It answers what it
// can, says where it cannot, and plans what the next read has to count and to collect. It does arithmetic only: whoever
// reads keys fills it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/byte_buffer.hpp"

namespace spansort::statistics {

/// Encoded keys in ascending order, words of so many bytes.
struct sorted_words {
  base::byte_buffer bytes;
  unsigned word_bytes = 8;
  std::uint64_t num_words = 0;

  [[nodiscard]] std::uint64_t at(std::uint64_t index) const noexcept;
  /// Returns how many of the words [begin, end) are less than `word`.
  [[nodiscard]] std::uint64_t count_less(std::uint64_t begin, std::uint64_t end, std::uint64_t word) const noexcept;
};

/// The counts of one read in an interval.
struct interval_count {
  std::uint64_t num_keys = 0;
  std::uint64_t least = ~std::uint64_t{0};
  std::uint64_t greatest = 0;

  void add(std::uint64_t encoded) noexcept {
    ++num_keys;
    least = encoded < least ? encoded : least;
    greatest = encoded > greatest ? encoded : greatest;
  }
  void add(const interval_count& more) noexcept {
    num_keys += more.num_keys;
    least = more.least < least ? more.least : least;
    greatest = more.greatest > greatest ? more.greatest : greatest;
  }
};

/// Encoded keys from `low` to `high`, both included.
struct encoded_range {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
};

/// The questions that a read is to answer.
struct index_wishes {
  std::vector<std::uint64_t> cuts;   ///< bounds before which keys are to be counted
  std::vector<encoded_range> known;  ///< of which every key is wanted, the most urgent first
  std::vector<std::uint64_t> often;  ///< values that are many: counted apart
};

/// The plan of a read.
struct index_read {
  std::vector<std::uint64_t> starts;  ///< of the intervals, ascending, the first 0
  std::vector<bool> is_collected;     ///< of each interval
  std::uint64_t expected_keys = 0;    ///< that will be collected
};

class interval_index {
 public:
  /// `sample`: encoded keys in ascending order, evenly taken from all `num_keys`.
  interval_index(std::uint64_t num_keys, std::uint64_t max_key, std::vector<std::uint64_t> sample);

  [[nodiscard]] std::uint64_t num_keys() const noexcept { return num_keys_; }
  [[nodiscard]] bool has_counts() const noexcept { return has_counts_; }
  /// Returns the sample that it was made with.
  [[nodiscard]] const std::vector<std::uint64_t>& sample() const noexcept { return sample_; }

  /// Returns the encoded key at an order rank, how many keys lie before a bound; nothing where that is not known.
  [[nodiscard]] std::optional<std::uint64_t> key_at(std::uint64_t rank) const;
  [[nodiscard]] std::optional<std::uint64_t> count_before(std::uint64_t bound) const;
  /// Returns the range that the key at an order rank is in.
  [[nodiscard]] encoded_range range_of_rank(std::uint64_t rank) const;
  /// Returns how many keys lie before a bound, as far as the sample tells where counts do not.
  [[nodiscard]] std::uint64_t about_before(std::uint64_t bound) const;
  /// Returns the ranges in which keys of ranks [begin, end) are not known one by one.
  [[nodiscard]] std::vector<encoded_range> unknown_of_ranks(std::uint64_t begin, std::uint64_t end) const;

  /// Plans a read that collects no more than `most_collected` keys. Of ranges with more, it counts smaller parts.
  [[nodiscard]] index_read plan(const index_wishes& wishes, std::uint64_t most_collected) const;
  /// Takes what the read has found. `collected` is null where there was too much of it.
  void take(const index_read& read, std::span<const interval_count> counts,
            const std::shared_ptr<const sorted_words>& collected);

 private:
  struct interval {
    std::uint64_t low = 0;
    std::uint64_t before = 0;  ///< keys in all intervals to the left
    interval_count count;
    std::shared_ptr<const sorted_words> words;  ///< all keys of it, from `first_word` on; may be null
    std::uint64_t first_word = 0;

    [[nodiscard]] bool is_known() const noexcept {
      return words != nullptr || count.num_keys <= 2 || count.least == count.greatest;
    }
  };

  [[nodiscard]] std::size_t interval_of_rank(std::uint64_t rank) const;
  [[nodiscard]] std::size_t interval_of_key(std::uint64_t encoded) const;
  [[nodiscard]] std::uint64_t high_of(std::size_t at) const noexcept;
  [[nodiscard]] std::vector<std::uint64_t> starts_with(const index_wishes& wishes) const;
  void mark(const index_wishes& wishes, std::uint64_t most_collected, index_read& read,
            std::vector<encoded_range>& too_large) const;
  void subdivide(const std::vector<encoded_range>& ranges, std::vector<std::uint64_t>& starts) const;

  std::uint64_t num_keys_;
  std::uint64_t max_key_;
  std::vector<std::uint64_t> sample_;
  bool has_counts_ = false;
  std::vector<interval> intervals_;
};

}  // namespace spansort::statistics
