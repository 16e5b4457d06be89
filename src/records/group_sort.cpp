// SPDX-License-Identifier: Apache-2.0
#include "records/group_sort.hpp"

#include <oneapi/tbb/enumerable_thread_specific.h>

#include <algorithm>
#include <concepts>
#include <mutex>
#include <vector>

#include "base/for_blocks.hpp"
#include "sort/values.hpp"

namespace spansort::records {
namespace {

constexpr std::uint32_t word_bytes = 8;

/// Neighbours in the order so far, equal in all bytes looked at.
struct group {
  std::uint64_t begin = 0;
  std::uint64_t count = 0;
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
  group_sorter(const group_sort_job& job, std::span<Index> indices) : job_(job), indices_(indices) {}

  void sort_all() {
    sorting::write_indices(indices_.data(), sizeof(Index), indices_.size());
    std::vector<group> groups{{0, indices_.size()}};
    for (std::uint32_t offset = 0; offset < job_.keys.key_bytes() && !groups.empty(); offset += word_bytes) {
      std::vector<group> larger;
      for (const group& g : groups) {
        sort_group(g, offset);
        if (offset == 0 && job_.on_first_sorted) job_.on_first_sorted();
        if (offset + word_bytes < job_.keys.key_bytes()) sort_small_groups_within(g, offset + word_bytes, larger);
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

  /// Sorts by all threads.
  void sort_group(const group& g, std::uint32_t offset) {
    const std::span words = job_.words.subspan(g.begin, g.count);
    const std::span indices = indices_.subspan(g.begin, g.count);
    base::for_blocks(g.count, [&](std::uint64_t begin, std::uint64_t end) {
      for (std::uint64_t i = begin; i < end; ++i) words[i] = job_.keys.word(indices[i], offset);
    });
    job_.words_sorter.sort_pairs(as_key_span(words), indices.data(), sizeof(Index));
  }

  /// Sorts the groups of equal words within a group, from `offset` on to the end of the key; larger ones are only
  /// named.
  void sort_small_groups_within(const group& whole, std::uint32_t offset, std::vector<group>& larger) {
    const std::span<const std::uint64_t> words = job_.words.subspan(whole.begin, whole.count);
    std::mutex larger_mutex;
    base::for_blocks(whole.count, [&](std::uint64_t block_begin, std::uint64_t block_end) {
      // A group belongs to the block in which it begins.
      std::uint64_t begin = block_begin;
      if (begin != 0 && words[begin] == words[begin - 1]) begin = end_of_equal(words, begin);
      while (begin < block_end) {
        const std::uint64_t end = end_of_equal(words, begin);
        const group g{whole.begin + begin, end - begin};
        if (g.count > job_.small_group) {
          const std::lock_guard lock(larger_mutex);
          larger.push_back(g);
        } else if (g.count > 1) {
          sort_small(g, offset);
        }
        begin = end;
      }
    });
  }

  /// Sorts by the calling thread, in memory of its own: others still read the words.
  void sort_small(const group& g, std::uint32_t offset) {
    std::vector<entry>& entries = entries_.local();
    if (entries.empty()) entries.resize(std::min<std::uint64_t>(job_.small_group, indices_.size()));
    const std::span indices = indices_.subspan(g.begin, g.count);
    for (std::uint64_t i = 0; i < g.count; ++i) entries[i].index = indices[i];
    sort_entries(std::span(entries).first(g.count), offset);
    for (std::uint64_t i = 0; i < g.count; ++i) indices[i] = entries[i].index;
  }

  /// Records of a group have their input order until now, and equal ones keep it: their indices say so.
  void sort_entries(std::span<entry> entries, std::uint32_t offset) const {
    for (entry& e : entries) e.word = job_.keys.word(e.index, offset);
    std::sort(entries.begin(), entries.end());
    if (offset + word_bytes >= job_.keys.key_bytes()) return;
    for (std::uint64_t begin = 0; begin < entries.size();) {
      std::uint64_t end = begin + 1;
      while (end < entries.size() && entries[end].word == entries[begin].word) ++end;
      if (end - begin > 1) sort_entries(entries.subspan(begin, end - begin), offset + word_bytes);
      begin = end;
    }
  }

  const group_sort_job& job_;
  std::span<Index> indices_;
  tbb::enumerable_thread_specific<std::vector<entry>> entries_;
};

}  // namespace

void sort_by_groups(const group_sort_job& job, std::span<std::uint32_t> indices) {
  group_sorter<std::uint32_t>(job, indices).sort_all();
}
void sort_by_groups(const group_sort_job& job, std::span<std::uint64_t> indices) {
  group_sorter<std::uint64_t>(job, indices).sort_all();
}

}  // namespace spansort::records
