// SPDX-License-Identifier: Apache-2.0
// Rows of a column in another order.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>
#include <numeric>

#include "base/for_blocks.hpp"
#include "sort/take.hpp"
#include "spansort/errors.hpp"
#include "table/column_data.hpp"

namespace spansort::table {
namespace {

constexpr std::uint64_t word_rows = 64;

using row_list = std::span<const std::uint64_t>;

/// Bits of rows, in words that each are one thread's.
base::byte_buffer take_bits(const void* bits, std::uint64_t first_row, row_list rows, const base::call_watch& watch) {
  base::byte_buffer taken(bitmap_bytes(rows.size()));
  auto* const words = reinterpret_cast<std::uint64_t*>(taken.data());
  base::for_blocks(taken.size() / sizeof(std::uint64_t), watch, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t word = begin; word < end; ++word) {
      const row_list of_word = rows.subspan(word * word_rows, std::min(word_rows, rows.size() - word * word_rows));
      words[word] = 0;
      for (std::uint64_t i = 0; i < of_word.size(); ++i) {
        words[word] |= std::uint64_t{bit_at(bits, first_row + of_word[i])} << i;
      }
    }
  });
  return taken;
}

base::byte_buffer take_values(const column_data& column, row_list rows, const base::call_watch& watch) {
  const std::uint64_t width = column.layout.value_bytes;
  base::byte_buffer taken(rows.size() * width);
  const auto* const values = static_cast<const std::byte*>(column.span.values) + column.span.first_row * width;
  watch.in_parts(rows.size(), width, [&](std::uint64_t begin, std::uint64_t count) {
    sorting::gather_elements(values, width, {key_type::u64, rows.data() + begin, count}, taken.data() + begin * width);
  });
  return taken;
}

/// Strings are copied in as many parts as there is work for all threads.
template <class Offset>
class string_taker {
 public:
  string_taker(const column_data& column, row_list rows, const base::call_watch& watch)
      : offsets_(static_cast<const Offset*>(column.span.offsets) + column.span.first_row),
        bytes_(static_cast<const std::byte*>(column.span.values)),
        rows_(rows),
        watch_(watch) {}

  void take_into(column_buffers& taken, std::string_view name) const {
    const std::vector<std::uint64_t> begins = part_begins();
    if (begins.back() > static_cast<std::uint64_t>(std::numeric_limits<Offset>::max())) {
      throw invalid_argument(
          fmt::format("column '{}': strings of {} bytes need offsets of 64 bits", name, begins.back()));
    }
    taken.offsets.resize((rows_.size() + 1) * sizeof(Offset));
    taken.values.resize(begins.back());
    auto* const offsets = reinterpret_cast<Offset*>(taken.offsets.data());
    offsets[rows_.size()] = static_cast<Offset>(begins.back());
    for_parts([&](std::uint64_t part, row_list rows) {
      std::uint64_t at = begins[part];
      for (std::uint64_t i = 0; i < rows.size(); ++i) {
        offsets[part * part_rows + i] = static_cast<Offset>(at);
        const std::uint64_t num_bytes = size_of(rows[i]);
        if (num_bytes != 0) std::memcpy(taken.values.data() + at, bytes_ + offsets_[rows[i]], num_bytes);
        at += num_bytes;
      }
    });
  }

 private:
  static constexpr std::uint64_t part_rows = std::uint64_t{1} << 14;

  [[nodiscard]] std::uint64_t size_of(std::uint64_t row) const {
    return static_cast<std::uint64_t>(offsets_[row + 1] - offsets_[row]);
  }

  /// Returns where the bytes of each part begin, and their sum at the end.
  [[nodiscard]] std::vector<std::uint64_t> part_begins() const {
    std::vector<std::uint64_t> begins((rows_.size() + part_rows - 1) / part_rows + 1, 0);
    for_parts([&](std::uint64_t part, row_list rows) {
      for (const std::uint64_t row : rows) begins[part + 1] += size_of(row);
    });
    std::partial_sum(begins.begin(), begins.end(), begins.begin());
    return begins;
  }

  template <class Body>
  void for_parts(const Body& body) const {
    const std::uint64_t num_parts = (rows_.size() + part_rows - 1) / part_rows;
    tbb::task_group_context own(tbb::task_group_context::isolated);
    tbb::parallel_for(
        std::uint64_t{0}, num_parts,
        [&](std::uint64_t part) {
          const std::uint64_t begin = part * part_rows;
          body(part, rows_.subspan(begin, std::min(part_rows, rows_.size() - begin)));
          watch_.ask();
        },
        own);
  }

  const Offset* offsets_;
  const std::byte* bytes_;
  row_list rows_;
  const base::call_watch& watch_;
};

void take_values_of_kind(const column_data& column, row_list rows, std::string_view name, const base::call_watch& watch,
                         column_buffers& taken) {
  const column_span& span = column.span;
  switch (column.layout.kind) {
    case column_kind::boolean: taken.values = take_bits(span.values, span.first_row, rows, watch); return;
    case column_kind::bytes32: return string_taker<std::int32_t>(column, rows, watch).take_into(taken, name);
    case column_kind::bytes64: return string_taker<std::int64_t>(column, rows, watch).take_into(taken, name);
    case column_kind::byte_views:
      taken.view_buffers.assign(span.view_buffers, span.view_buffers + span.num_view_buffers);
      taken.view_buffer_bytes.assign(span.view_buffer_bytes, span.view_buffer_bytes + span.num_view_buffers);
      taken.view_memory = column.view_memory;
      break;
    default: break;
  }
  taken.values = take_values(column, rows, watch);
}

}  // namespace

column_data take_rows(const column_data& column, row_list rows, std::string_view name, const base::call_watch* watch) {
  const progress_callback nobody;
  const base::call_watch no_watch(nobody);
  if (watch == nullptr) watch = &no_watch;
  if (column.layout.is_all_null) return all_null_column(rows.size());
  auto taken = std::make_shared<column_buffers>();
  take_values_of_kind(column, rows, name, *watch, *taken);
  if (column.span.validity != nullptr) {
    taken->validity = take_bits(column.span.validity, column.span.first_row, rows, *watch);
  }
  column_data result = column_in(column.layout, rows.size(), std::move(taken));
  set_dictionary(result, column.dictionary);
  return result;
}

}  // namespace spansort::table
