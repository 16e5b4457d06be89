// SPDX-License-Identifier: Apache-2.0
// The stable order of records by their normalised keys, 8 bytes at a time. The first 8 bytes of all records are sorted
// with an index; a group of records that are equal in them is sorted by the next 8, and so on. Each level is a sort of
// numbers, so no input costs more than key_bytes / 8 of them.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "spansort/sort.hpp"

namespace spansort::records {

/// Groups of more records than this are sorted by all threads together, those up to it by one thread each.
inline constexpr std::uint64_t default_small_group = std::uint64_t{1} << 15;

/// The normalised keys of records, or of whatever else is to be ordered: asked by many threads at once.
class key_words {
 public:
  virtual ~key_words() = default;
  /// The number of bytes of each normalised key.
  [[nodiscard]] virtual std::uint32_t key_bytes() const noexcept = 0;
  /// Bytes [key_offset, key_offset + 8) of the key of record `index`, as record_codec::word() gives them.
  [[nodiscard]] virtual std::uint64_t word(std::uint64_t index, std::uint32_t key_offset) const = 0;
};

struct group_sort_job {
  const key_words& keys;
  std::span<std::uint64_t> words;  ///< one a record, overwritten
  sorter& words_sorter;            ///< ascending
  std::uint64_t small_group = default_small_group;
  /// Told after the sort by the first 8 bytes; may throw.
  std::function<void()> on_first_sorted = {};
};

/// Writes into `indices`, one a record, which record comes first, second ... Memory: 16 bytes for each of small_group
/// records a thread, 16 for each larger group. Throws what a sort throws.
void sort_by_groups(const group_sort_job& job, std::span<std::uint32_t> indices);
void sort_by_groups(const group_sort_job& job, std::span<std::uint64_t> indices);

}  // namespace spansort::records
