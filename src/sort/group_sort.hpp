// SPDX-License-Identifier: Apache-2.0
// The stable order of elements whose keys are wider than a number: a key is a sequence of words, and a word has 64 bits
// at most. All elements are sorted by their first words with an index; a group of elements that are equal so far is
// sorted by the next word, and so on. Each level is a sort of numbers; there is no comparison of whole keys.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "base/call_watch.hpp"
#include "spansort/sort.hpp"

namespace spansort::sorting {

/// Groups of more elements than this are sorted by all threads together, those up to it by one thread each.
inline constexpr std::uint64_t default_small_group = std::uint64_t{1} << 15;

/// The keys of elements, asked by many threads at once. A step names a word of a key; the first step is 0.
class key_words {
 public:
  virtual ~key_words() = default;
  /// The word at `step` of the key of an element. It is asked for elements alone whose keys have such a step.
  [[nodiscard]] virtual std::uint64_t word(std::uint64_t index, std::uint64_t step) const = 0;
  /// The step after `step` of the key of an element, the same for all that are equal to it so far; none at its end.
  [[nodiscard]] virtual std::optional<std::uint64_t> next_step(std::uint64_t index, std::uint64_t step) const = 0;
  /// Returns whether next_step() gives none for every element.
  [[nodiscard]] virtual bool is_last(std::uint64_t step) const noexcept = 0;
  /// Words of `step` are below 2 to the power of this.
  [[nodiscard]] virtual unsigned num_bits(std::uint64_t step) const noexcept;

  /// Writes word(indices[i], step) to words[i].
  virtual void write_words(std::span<const std::uint32_t> indices, std::uint64_t step,
                           std::span<std::uint64_t> words) const;
  virtual void write_words(std::span<const std::uint64_t> indices, std::uint64_t step,
                           std::span<std::uint64_t> words) const;

 protected:
  key_words() = default;
  key_words(const key_words&) = default;
  key_words& operator=(const key_words&) = default;
};

struct group_sort_job {
  const key_words& keys;
  std::span<std::uint64_t> words;  ///< one an element, overwritten
  sorter& words_sorter;            ///< ascending; what it sorts is thrown away when the call is cancelled
  std::uint64_t small_group = default_small_group;
  const base::call_watch& watch;  ///< asked between blocks of work
  /// Told after the sort by the first words; may throw.
  std::function<void()> on_first_sorted = {};
};

/// Memory of the lists of groups, for each element: larger groups are listed by 24 bytes each, in two lists at a time
/// that grow by doubling. 16 bytes for each of small_group elements a thread come on top.
[[nodiscard]] constexpr std::uint64_t group_list_bytes(std::uint64_t num_elements, std::uint64_t small_group) {
  constexpr std::uint64_t bytes_of_group = 4 * 24;
  return num_elements / (small_group + 1) * bytes_of_group;
}

/// Writes into `indices`, one an element, which comes first, second ... Throws what a sort and what `keys` throw.
void sort_by_groups(const group_sort_job& job, std::span<std::uint32_t> indices);
void sort_by_groups(const group_sort_job& job, std::span<std::uint64_t> indices);

}  // namespace spansort::sorting
