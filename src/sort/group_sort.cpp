// SPDX-License-Identifier: Apache-2.0
#include "sort/group_sort.hpp"

#include <oneapi/tbb/enumerable_thread_specific.h>

#include <algorithm>
#include <bit>
#include <concepts>
#include <mutex>
#include <vector>

#include "base/for_blocks.hpp"
#include "base/math.hpp"
#include "sort/flowing_calls.hpp"
#include "sort/values.hpp"

namespace spansort::sorting {
namespace {

constexpr unsigned word_bits = 64;

/// Neighbours in the order so far, equal in all words looked at, and the step of the next.
struct group {
  std::uint64_t begin = 0;
  std::uint64_t count = 0;
  std::uint64_t step = 0;
};

/// Returns where the words equal to words[begin] end, in steps that double: short groups are the rule.
std::uint64_t end_of_equal(std::span<const std::uint64_t> words, std::uint64_t begin) {
  std::uint64_t step = 1;
  std::uint64_t low = begin;
  while (low + step < words.size() && words[low + step] == words[begin]) {
    low += step;
    step *= 2;
  }
  const std::uint64_t high = std::min<std::uint64_t>(low + step, words.size());
  const auto first = words.begin() + static_cast<std::ptrdiff_t>(low);
  const auto last = words.begin() + static_cast<std::ptrdiff_t>(high);
  return static_cast<std::uint64_t>(std::upper_bound(first, last, words[begin]) - words.begin());
}

template <std::unsigned_integral Index>
class group_sorter {
 public:
  group_sorter(const group_sort_job& job, std::span<Index> indices) : job_(job), indices_(indices) {
    flowing_calls::dispose(job.words_sorter);
  }

  void sort_all() {
    write_indices(indices_.data(), sizeof(Index), indices_.size());
    std::vector<group> groups{{0, indices_.size(), 0}};
    for (bool is_first = true; !groups.empty(); is_first = false) {
      std::vector<group> larger;
      for (const group& g : groups) {
        sort_group(g, is_first);
        if (is_first && job_.on_first_sorted) job_.on_first_sorted();
        if (!job_.keys.is_last(g.step)) sort_small_groups_within(g, larger);
      }
      groups = std::move(larger);
    }
  }

 private:
  struct entry {
    std::uint64_t word = 0;
    Index index = 0;
    friend bool operator<(const entry& a, const entry& b) noexcept {
      return a.word != b.word ? a.word < b.word : a.index < b.index;
    }
  };

  /// Sorts by all threads. `is_whole`: the indices are 0, 1, 2 ...
  void sort_group(const group& g, bool is_whole) {
    const std::span words = job_.words.subspan(g.begin, g.count);
    const std::span indices = indices_.subspan(g.begin, g.count);
    base::for_blocks(g.count, job_.watch, [&](std::uint64_t begin, std::uint64_t end) {
      job_.keys.write_words(indices.subspan(begin, end - begin), g.step, words.subspan(begin, end - begin));
    });
    const unsigned index_bits = static_cast<unsigned>(std::bit_width(g.count));
    if (is_whole && job_.keys.num_bits(g.step) + index_bits <= word_bits) return sort_with_indices(index_bits);
    job_.words_sorter.sort_pairs(as_key_span(words), indices.data(), sizeof(Index));
  }

  /// Sorts all words with their indices in the lowest bits: numbers alone are sorted faster than pairs.
  void sort_with_indices(unsigned index_bits) {
    base::for_blocks(job_.words.size(), job_.watch, [&](std::uint64_t begin, std::uint64_t end) {
      for (std::uint64_t i = begin; i < end; ++i) job_.words[i] = job_.words[i] << index_bits | i;
    });
    job_.words_sorter.sort(job_.words);
    const std::uint64_t mask = base::low_mask(index_bits);
    base::for_blocks(job_.words.size(), job_.watch, [&](std::uint64_t begin, std::uint64_t end) {
      for (std::uint64_t i = begin; i < end; ++i) {
        indices_[i] = static_cast<Index>(job_.words[i] & mask);
        job_.words[i] >>= index_bits;
      }
    });
  }

  /// Sorts the groups of equal words within a group to the end of their keys; larger ones are only named.
  void sort_small_groups_within(const group& whole, std::vector<group>& larger) {
    const std::span<const std::uint64_t> words = job_.words.subspan(whole.begin, whole.count);
    std::mutex larger_mutex;
    base::for_blocks(whole.count, job_.watch, [&](std::uint64_t block_begin, std::uint64_t block_end) {
      // A group belongs to the block in which it begins.
      std::uint64_t begin = block_begin;
      if (begin != 0 && words[begin] == words[begin - 1]) begin = end_of_equal(words, begin);
      while (begin < block_end) {
        const std::uint64_t end = end_of_equal(words, begin);
        if (const std::optional<group> g = next_group(whole, begin, end)) {
          if (g->count > job_.small_group) {
            const std::lock_guard lock(larger_mutex);
            larger.push_back(*g);
          } else {
            sort_small(*g);
          }
        }
        begin = end;
      }
    });
  }

  /// Returns what is left to be ordered of equal words, if anything is.
  [[nodiscard]] std::optional<group> next_group(const group& whole, std::uint64_t begin, std::uint64_t end) const {
    if (end - begin < 2) return std::nullopt;
    const std::optional<std::uint64_t> step = job_.keys.next_step(indices_[whole.begin + begin], whole.step);
    if (!step) return std::nullopt;
    return group{whole.begin + begin, end - begin, *step};
  }

  /// Sorts by the calling thread, in memory of its own: others still read the words.
  void sort_small(const group& g) {
    std::vector<entry>& entries = entries_.local();
    if (entries.empty()) entries.resize(std::min<std::uint64_t>(job_.small_group, indices_.size()));
    const std::span indices = indices_.subspan(g.begin, g.count);
    for (std::uint64_t i = 0; i < g.count; ++i) entries[i].index = indices[i];
    sort_entries(std::span(entries).first(g.count), g.step);
    for (std::uint64_t i = 0; i < g.count; ++i) indices[i] = entries[i].index;
  }

  /// Elements of a group have their input order until now, and equal ones keep it: their indices say so. The largest
  /// group within is left to the loop, so that the stack holds no more than log2(small_group) calls.
  void sort_entries(std::span<entry> entries, std::uint64_t step) const {
    for (;;) {
      for (entry& e : entries) e.word = job_.keys.word(e.index, step);
      std::sort(entries.begin(), entries.end());
      if (job_.keys.is_last(step)) return;
      std::span<entry> largest;
      for_each_tie(entries, [&](std::span<entry> tie) { largest = tie.size() > largest.size() ? tie : largest; });
      if (largest.empty()) return;
      for_each_tie(entries, [&](std::span<entry> tie) {
        if (tie.data() == largest.data()) return;
        if (const auto next = job_.keys.next_step(tie.front().index, step)) sort_entries(tie, *next);
      });
      const std::optional<std::uint64_t> next = job_.keys.next_step(largest.front().index, step);
      if (!next) return;
      entries = largest;
      step = *next;
    }
  }

  /// Calls f for two or more sorted entries with one word.
  template <class F>
  static void for_each_tie(std::span<entry> entries, const F& f) {
    for (std::size_t begin = 0; begin < entries.size();) {
      std::size_t end = begin + 1;
      while (end < entries.size() && entries[end].word == entries[begin].word) ++end;
      if (end - begin > 1) f(entries.subspan(begin, end - begin));
      begin = end;
    }
  }

  const group_sort_job& job_;
  std::span<Index> indices_;
  tbb::enumerable_thread_specific<std::vector<entry>> entries_;
};

}  // namespace

unsigned key_words::num_bits(std::uint64_t /*step*/) const noexcept { return word_bits; }

void key_words::write_words(std::span<const std::uint32_t> indices, std::uint64_t step,
                            std::span<std::uint64_t> words) const {
  for (std::size_t i = 0; i < indices.size(); ++i) words[i] = word(indices[i], step);
}

void key_words::write_words(std::span<const std::uint64_t> indices, std::uint64_t step,
                            std::span<std::uint64_t> words) const {
  for (std::size_t i = 0; i < indices.size(); ++i) words[i] = word(indices[i], step);
}

void sort_by_groups(const group_sort_job& job, std::span<std::uint32_t> indices) {
  group_sorter<std::uint32_t>(job, indices).sort_all();
}
void sort_by_groups(const group_sort_job& job, std::span<std::uint64_t> indices) {
  group_sorter<std::uint64_t>(job, indices).sort_all();
}

}  // namespace spansort::sorting
