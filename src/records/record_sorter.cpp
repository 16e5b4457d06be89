// SPDX-License-Identifier: Apache-2.0
#include "records/record_sorter.hpp"

#include <oneapi/tbb/info.h>

#include <algorithm>
#include <limits>
#include <span>

#include "base/math.hpp"
#include "records/gather_in_place.hpp"
#include "sort/sorter_memory.hpp"

namespace spansort::records {
namespace {

constexpr std::uint64_t word_bytes = sizeof(std::uint64_t);
constexpr std::uint64_t narrow_records = std::uint64_t{1} << 32;  // that 32-bit indices can name
std::uint64_t index_bytes(std::uint64_t num_records) { return num_records <= narrow_records ? 4 : 8; }

/// The words of records as they lie.
class words_of_records final : public sorting::key_words {
 public:
  words_of_records(const record_codec& codec, const std::byte* records) : codec_(codec), records_(records) {}
  [[nodiscard]] std::uint64_t word(std::uint64_t index, std::uint64_t step) const override {
    return codec_.word(records_ + index * codec_.record_bytes(), static_cast<std::uint32_t>(step));
  }
  [[nodiscard]] std::optional<std::uint64_t> next_step(std::uint64_t /*index*/, std::uint64_t step) const override {
    return is_last(step) ? std::nullopt : std::optional(step + word_bytes);
  }
  /// A step is the offset of a word in the normalised key.
  [[nodiscard]] bool is_last(std::uint64_t step) const noexcept override {
    return step + word_bytes >= codec_.key_bytes();
  }

 private:
  const record_codec& codec_;
  const std::byte* records_;
};

template <class T>
std::span<T> as_span(base::byte_buffer& buffer, std::uint64_t count) {
  return {reinterpret_cast<T*>(buffer.data()), count};
}

}  // namespace

record_sorter::record_sorter(const record_format& format, direction d, const sort_options& options,
                             std::uint64_t small_group)
    : codec_(format, keys::is_descending(d)), options_(options), small_group_(small_group), words_sorter_(options_) {}

void record_sorter::sort(std::byte* records, std::uint64_t num_records, const sorting::order_steps& steps) {
  if (index_bytes(num_records) == sizeof(std::uint32_t)) return sort_with<std::uint32_t>(records, num_records, steps);
  sort_with<std::uint64_t>(records, num_records, steps);
}

template <class Index>
void record_sorter::sort_with(std::byte* records, std::uint64_t num_records, const sorting::order_steps& steps) {
  const std::uint64_t record_bytes = codec_.record_bytes();
  words_.make_room(num_records * std::max(word_bytes, stripe_bytes(record_bytes)));
  indices_.make_room(num_records * sizeof(Index));
  const std::span<Index> indices = as_span<Index>(indices_, num_records);
  const base::call_watch watch(options_.on_progress);
  sorting::sort_by_groups({.keys = words_of_records(codec_, records),
                           .words = as_span<std::uint64_t>(words_, num_records),
                           .words_sorter = words_sorter_,
                           .small_group = small_group_,
                           .watch = watch,
                           .on_first_sorted = steps.on_first_sorted},
                          indices);
  if (steps.on_ordered) steps.on_ordered();
  const base::call_watch late(options_.on_progress, "gather", 1, base::stop_rule::when_abandoned);
  gather_in_place(records, record_bytes, indices, words_.data(), late);
  late.raise_late();
}

base::memory_formula record_sorter::memory() const {
  // Indices of 8 bytes, so that it is true beyond 2^32 records, too.
  base::memory_formula memory = sorting::sorter_memory(options_, word_bytes, sizeof(std::uint64_t));
  memory.element_bytes += sizeof(std::uint64_t) + std::max(word_bytes, stripe_bytes(codec_.record_bytes()));
  memory.element_bytes += base::ceil_div(sorting::group_list_bytes(small_group_ + 1, small_group_), small_group_ + 1);
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
