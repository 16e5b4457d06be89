// SPDX-License-Identifier: Apache-2.0
#include "records/record_sorter.hpp"

#include <oneapi/tbb/info.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <span>

#include "base/for_blocks.hpp"
#include "base/math.hpp"
#include "sort/sorter_memory.hpp"

namespace spansort::records {
namespace {

constexpr std::uint64_t word_bytes = sizeof(std::uint64_t);
constexpr std::uint64_t narrow_records = std::uint64_t{1} << 32;  // that 32-bit indices can name
constexpr std::uint64_t cache_line_bytes = 64;
constexpr std::uint64_t most_stripes = 4;
constexpr std::uint64_t lookahead_records = 16;

/// Columns that are gathered together, about a cache line of them in records of usual size. Fewer would save memory, and
/// read every record's lines more often. Records of 100 bytes in 1, 2, 3, 4 stripes: 779, 831, 751, 957 ms of processor
/// time for 3 million (two threads, busy machine).
std::uint64_t stripe_bytes(std::uint64_t record_bytes) {
  const std::uint64_t num_lines = base::ceil_div(record_bytes, cache_line_bytes);
  return base::ceil_div(record_bytes, std::min(num_lines, most_stripes));
}

std::uint64_t index_bytes(std::uint64_t num_records) { return num_records <= narrow_records ? 4 : 8; }

/// Columns [first, first + width) of all records.
struct stripe {
  std::uint64_t record_bytes = 0;
  std::uint64_t first = 0;
  std::uint64_t width = 0;
};

/// Gathers one stripe by way of `room`, `width` bytes a record.
template <class Index>
void gather_stripe(std::byte* records, const stripe& s, std::span<const Index> indices, std::byte* room) {
  std::byte* const columns = records + s.first;
  base::for_blocks(indices.size(), [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t i = begin; i < end; ++i) {
      // The order is random, so every record is a miss that nothing else announces.
      const std::uint64_t ahead = std::min(i + lookahead_records, end - 1);
      __builtin_prefetch(columns + indices[ahead] * s.record_bytes);
      __builtin_prefetch(columns + indices[ahead] * s.record_bytes + s.width - 1);
      std::memcpy(room + i * s.width, columns + indices[i] * s.record_bytes, s.width);
    }
  });
  base::for_blocks(indices.size(), [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t i = begin; i < end; ++i) {
      std::memcpy(columns + i * s.record_bytes, room + i * s.width, s.width);
    }
  });
}

template <class Index>
bool is_in_place(std::span<const Index> indices) {
  for (std::uint64_t i = 0; i < indices.size(); ++i) {
    if (indices[i] != i) return false;
  }
  return true;
}

template <class T>
std::span<T> as_span(base::byte_buffer& buffer, std::uint64_t count) {
  return {reinterpret_cast<T*>(buffer.data()), count};
}

}  // namespace

record_sorter::record_sorter(const record_format& format, direction d, const sort_options& options,
                             std::uint64_t small_group)
    : codec_(format, keys::is_descending(d)), options_(options), small_group_(small_group), words_sorter_(options_) {}

void record_sorter::sort(std::byte* records, std::uint64_t num_records, const record_sort_steps& steps) {
  if (index_bytes(num_records) == sizeof(std::uint32_t)) return sort_with<std::uint32_t>(records, num_records, steps);
  sort_with<std::uint64_t>(records, num_records, steps);
}

template <class Index>
void record_sorter::sort_with(std::byte* records, std::uint64_t num_records, const record_sort_steps& steps) {
  const std::uint64_t record_bytes = codec_.record_bytes();
  const std::uint64_t widest = stripe_bytes(record_bytes);
  words_.make_room(num_records * std::max(word_bytes, widest));
  indices_.make_room(num_records * sizeof(Index));
  const std::span<Index> indices = as_span<Index>(indices_, num_records);
  sort_by_groups({.codec = codec_,
                  .records = records,
                  .words = as_span<std::uint64_t>(words_, num_records),
                  .words_sorter = words_sorter_,
                  .small_group = small_group_,
                  .on_first_sorted = steps.on_first_sorted},
                 indices);
  if (steps.on_ordered) steps.on_ordered();
  if (is_in_place<Index>(indices)) return;
  for (std::uint64_t first = 0; first < record_bytes; first += widest) {
    const std::uint64_t width = std::min(widest, record_bytes - first);
    gather_stripe<Index>(records, {record_bytes, first, width}, indices, words_.data());
  }
}

base::memory_formula record_sorter::memory() const {
  // Indices of 8 bytes, so that it is true beyond 2^32 records, too.
  base::memory_formula memory = sorting::sorter_memory(options_, word_bytes, sizeof(std::uint64_t));
  memory.element_bytes += sizeof(std::uint64_t) + std::max(word_bytes, stripe_bytes(codec_.record_bytes()));
  // Larger groups are listed by 16 bytes each, two lists at a time, which grow by doubling.
  constexpr std::uint64_t list_bytes = 4 * 16;
  memory.element_bytes += base::ceil_div(list_bytes, small_group_ + 1);
  memory.fixed_bytes += static_cast<std::uint64_t>(tbb::info::default_concurrency()) * small_group_ * 16;
  return memory;
}

std::uint64_t record_sorter::held_bytes() const noexcept {
  return words_.size() + indices_.size() + words_sorter_.workspace_bytes();
}

std::uint64_t record_sorter::buffer_bytes(std::uint64_t record_bytes, std::uint64_t num_records) {
  const std::uint64_t of_a_record = index_bytes(num_records) + std::max(word_bytes, stripe_bytes(record_bytes));
  std::uint64_t bytes = 0;
  if (__builtin_mul_overflow(num_records, of_a_record, &bytes)) return std::numeric_limits<std::uint64_t>::max();
  return bytes;
}

}  // namespace spansort::records
