// SPDX-License-Identifier: Apache-2.0
#include "table/sort_packed.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <concepts>
#include <cstring>
#include <limits>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/byte_buffer.hpp"
#include "base/for_blocks.hpp"
#include "base/math.hpp"
#include "keys/codec.hpp"
#include "keys/dispatch.hpp"
#include "report/open_report.hpp"
#include "sort/flowing_calls.hpp"
#include "sort/sort_observer.hpp"
#include "spansort/report.hpp"
#include "spansort/sort.hpp"
#include "table/sort_alone.hpp"

namespace spansort::table {
namespace {

constexpr unsigned most_packed_bits = 64;  // of a row

/// The numbers of a column as differences to the least of them, in a few bits of a word.
struct packed_column {
  const column_data* column = nullptr;
  keys::key_codec codec = {};
  std::uint64_t least = 0;  ///< encoded
  unsigned num_bits = 0;    ///< 0 where all are equal
  unsigned shift = 0;
};

template <class K>
K load(const std::byte* values, std::uint64_t row) {
  K bits;
  std::memcpy(&bits, values + row * sizeof(K), sizeof(K));  // any alignment
  return bits;
}

template <class F>
decltype(auto) with_width_of(const packed_column& packed, const F& f) {
  return keys::with_width(packed.codec.width_bytes(), f);
}

/// Finds the least number, and how many bits the differences need.
void measure(packed_column& packed, const base::call_watch& watch) {
  struct range {
    std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
    std::uint64_t greatest = 0;
  };
  range all;
  std::mutex all_mutex;
  with_width_of(packed, [&]<class K>() {
    const auto codec = packed.codec.of<K>();
    const std::byte* const values = values_of(*packed.column);
    base::for_blocks(packed.column->num_rows, watch, [&](std::uint64_t begin, std::uint64_t end) {
      K least = std::numeric_limits<K>::max();
      K greatest = 0;
      for (std::uint64_t row = begin; row < end; ++row) {
        const K number = codec.encode_bits(load<K>(values, row));
        least = std::min(least, number);
        greatest = std::max(greatest, number);
      }
      const std::lock_guard lock(all_mutex);
      all = {std::min<std::uint64_t>(all.least, least), std::max<std::uint64_t>(all.greatest, greatest)};
    });
  });
  if (all.least > all.greatest) return;  // there are no rows
  packed.least = all.least;
  packed.num_bits = static_cast<unsigned>(std::bit_width(all.greatest - all.least));
}

/// Returns how the columns lie in a word, in the order of the keys; none where they do not tell the rows.
std::optional<std::vector<packed_column>> pack_columns(const arrow_rows& table, std::span<const numbered_key> by,
                                                       const base::call_watch& watch) {
  if (table.columns.size() < 2) return std::nullopt;  // sort_alone() has looked at the only one
  std::vector<packed_column> columns;
  std::vector<bool> is_key(table.columns.size(), false);
  for (const numbered_key& key : by) {
    if (is_key[key.column]) continue;  // rows that come to a key again are equal in it
    is_key[key.column] = true;
    const column_data& column = table.columns[key.column];
    columns.push_back({&column, {.type = column.layout.type, .descending = keys::is_descending(key.order)}});
  }
  // What is quickly known comes first.
  if (std::ranges::find(is_key, false) != is_key.end()) return std::nullopt;
  if (!std::ranges::all_of(table.columns, holds_numbers)) return std::nullopt;
  unsigned num_bits = 0;
  for (packed_column& packed : columns) {
    if (!tells_its_bits(*packed.column)) return std::nullopt;
    measure(packed, watch);
    num_bits += packed.num_bits;
    if (num_bits > most_packed_bits) return std::nullopt;
  }
  for (packed_column& packed : columns) packed.shift = num_bits -= packed.num_bits;
  return columns;
}

template <std::unsigned_integral Word>
class packed_rows {
 public:
  packed_rows(std::span<const packed_column> columns, std::uint64_t num_rows)
      : columns_(columns), num_rows_(num_rows), memory_(num_rows * sizeof(Word)) {}

  void pack(const base::call_watch& watch) {
    base::for_blocks(num_rows_, watch, [&](std::uint64_t begin, std::uint64_t end) {
      std::fill(words() + begin, words() + end, Word{0});
      for (const packed_column& packed : columns_) {
        if (packed.num_bits == 0) continue;
        with_width_of(packed, [&]<class K>() {
          const auto codec = packed.codec.of<K>();
          const std::byte* const values = values_of(*packed.column);
          const auto least = static_cast<K>(packed.least);
          for (std::uint64_t row = begin; row < end; ++row) {
            const auto rank = static_cast<K>(codec.encode_bits(load<K>(values, row)) - least);
            words()[row] = static_cast<Word>(words()[row] | static_cast<Word>(rank) << packed.shift);
          }
        });
      }
    });
  }

  void sort(sort_options options) {
    if (options.memory_limit_bytes != 0) options.memory_limit_bytes -= memory_.size();  // the words took less
    sorter own(options);
    sorting::flowing_calls::dispose(own);
    sorting::run_beside(memory_.size(), [&] { own.sort(std::span(words(), num_rows_)); });
    if (options.report != nullptr) options.report->workspace_bytes += memory_.size();
  }

  [[nodiscard]] column_data unpack(const packed_column& packed, const base::call_watch& watch) const {
    auto buffers = std::make_shared<column_buffers>();
    buffers->values = base::byte_buffer(num_rows_ * packed.column->layout.value_bytes);
    std::byte* const values = buffers->values.data();
    with_width_of(packed, [&]<class K>() {
      const auto codec = packed.codec.of<K>();
      const auto mask = static_cast<K>(base::low_mask(packed.num_bits));
      const auto least = static_cast<K>(packed.least);
      // The shift of a column without bits may be as wide as a word.
      const unsigned shift = packed.num_bits == 0 ? 0 : packed.shift;
      base::for_blocks(num_rows_, watch, [&](std::uint64_t begin, std::uint64_t end) {
        for (std::uint64_t row = begin; row < end; ++row) {
          const K rank = static_cast<K>(static_cast<K>(words()[row] >> shift) & mask);
          const K bits = codec.decode(static_cast<K>(rank + least));
          std::memcpy(values + row * sizeof(K), &bits, sizeof(K));
        }
      });
    });
    return column_in(packed.column->layout, num_rows_, std::move(buffers));
  }

 private:
  [[nodiscard]] Word* words() noexcept { return reinterpret_cast<Word*>(memory_.data()); }
  [[nodiscard]] const Word* words() const noexcept { return reinterpret_cast<const Word*>(memory_.data()); }

  std::span<const packed_column> columns_;
  std::uint64_t num_rows_;
  base::byte_buffer memory_;
};

/// Calls f(), and adds it to the report as a phase that reads and writes `num_bytes`.
template <class F>
void in_phase(report::open_report& open, std::string_view name, std::uint64_t num_bytes, const F& f) {
  using clock = report::open_report::clock;
  const clock::time_point begin = clock::now();
  f();
  open.add_phase(name, std::chrono::duration<double, std::milli>(clock::now() - begin).count(), num_bytes);
}

template <std::unsigned_integral Word>
arrow_rows sort_words(const arrow_rows& table, std::span<const packed_column> columns, const sort_options& options,
                      const base::call_watch& packing, const base::call_watch& unpacking, report::open_report& open) {
  sorting::require_memory(table.num_rows, table.num_rows * sizeof(Word), options.memory_limit_bytes);
  packed_rows<Word> rows(columns, table.num_rows);
  std::uint64_t row_bytes = sizeof(Word);
  for (const packed_column& packed : columns) row_bytes += packed.column->layout.value_bytes;
  in_phase(open, "pack rows", table.num_rows * row_bytes, [&] { rows.pack(packing); });
  rows.sort(options);
  arrow_rows sorted{.schema = table.schema, .columns = {}, .num_rows = table.num_rows};
  sorted.columns.resize(table.columns.size());
  in_phase(open, "unpack rows", table.num_rows * row_bytes, [&] {
    for (const packed_column& packed : columns) {
      const auto number = static_cast<std::size_t>(packed.column - table.columns.data());
      sorted.columns[number] = rows.unpack(packed, unpacking);
    }
  });
  return sorted;
}

}  // namespace

std::optional<arrow_rows> sort_packed(const arrow_rows& table, std::span<const numbered_key> by,
                                      const sort_options& options, const base::call_watch& unpacking) {
  report::open_report open(options.report, "sort_table");
  const base::call_watch packing(options.on_progress);
  std::optional<std::vector<packed_column>> columns;
  std::uint64_t num_bytes = 0;
  for (const column_data& column : table.columns) num_bytes += table.num_rows * column.layout.value_bytes;
  in_phase(open, "read columns", num_bytes, [&] { columns = pack_columns(table, by, packing); });
  if (!columns) return std::nullopt;
  unsigned num_bits = 0;
  for (const packed_column& packed : *columns) num_bits += packed.num_bits;
  arrow_rows sorted = num_bits <= 32 ? sort_words<std::uint32_t>(table, *columns, options, packing, unpacking, open)
                                     : sort_words<std::uint64_t>(table, *columns, options, packing, unpacking, open);
  if (options.report != nullptr) options.report->key_type = fmt::format("rows by {} columns", by.size());
  open.finish();
  return sorted;
}

}  // namespace spansort::table
