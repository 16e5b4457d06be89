// SPDX-License-Identifier: Apache-2.0
#include "table/sort_alone.hpp"

#include <atomic>
#include <cstring>
#include <memory>
#include <utility>

#include "base/call_watch.hpp"
#include "base/for_blocks.hpp"
#include "base/math.hpp"
#include "base/threads.hpp"
#include "keys/codec.hpp"
#include "keys/dispatch.hpp"
#include "report/open_report.hpp"
#include "sort/flowing_calls.hpp"
#include "spansort/sort.hpp"
#include "table/check_column.hpp"

namespace spansort::table {
namespace {

/// Returns whether any row is null.
bool has_nulls(const column_data& column) {
  if (column.span.validity == nullptr) return false;
  std::atomic<bool> found{false};
  base::for_blocks(column.num_rows, [&](std::uint64_t begin, std::uint64_t end) {
    if (found.load(std::memory_order_relaxed)) return;
    for (std::uint64_t row = begin; row < end; ++row) {
      if (!is_valid(column.span, row)) return found.store(true, std::memory_order_relaxed);
    }
  });
  return found;
}

/// Returns whether floats tie that are not the same bits, or may.
template <class K>
bool has_ties(const column_data& column, keys::float_format format) {
  const auto infinity = static_cast<K>(base::low_mask(format.exponent_bits) << format.mantissa_bits);
  const auto sign = static_cast<K>(K{1} << (8 * sizeof(K) - 1));
  const std::byte* const values = values_of(column);
  std::atomic<bool> found{false};
  base::for_blocks(column.num_rows, [&](std::uint64_t begin, std::uint64_t end) {
    if (found.load(std::memory_order_relaxed)) return;
    bool ties = false;
    for (std::uint64_t row = begin; row < end; ++row) {
      K bits;
      std::memcpy(&bits, values + row * sizeof(K), sizeof(K));  // any alignment
      ties |= bits == sign || static_cast<K>(bits & ~sign) > infinity;
    }
    if (ties) found.store(true, std::memory_order_relaxed);
  });
  return found;
}

bool has_ties(const column_data& column) {
  const key_type type = column.layout.type;
  if (!keys::is_float(type)) return false;
  bool found = false;
  keys::with_width(static_cast<unsigned>(size_bytes(type)),
                   [&]<class K>() { found = has_ties<K>(column, keys::format_of(type)); });
  return found;
}

}  // namespace

const std::byte* values_of(const column_data& column) {
  return static_cast<const std::byte*>(column.span.values) + column.span.first_row * column.layout.value_bytes;
}

bool holds_numbers(const column_data& column) {
  return column.layout.kind == column_kind::number && column.layout.has_order && !column.layout.is_all_null &&
         column.dictionary == nullptr;
}

bool tells_its_bits(const column_data& column) { return !has_nulls(column) && !has_ties(column); }

std::optional<arrow_rows> sort_alone(const arrow_rows& table, direction d, const sort_options& options) {
  if (table.columns.size() != 1) return std::nullopt;
  const column_data& column = table.columns.front();
  if (!holds_numbers(column)) return std::nullopt;
  return base::with_threads(options.threads, [&]() -> std::optional<arrow_rows> {
    report::open_report open(options.report, "sort_table");
    if (!tells_its_bits(column)) return std::nullopt;
    const std::uint64_t width = column.layout.value_bytes;
    auto buffers = std::make_shared<column_buffers>();
    buffers->values = base::byte_buffer(column.num_rows * width);
    std::byte* const sorted = buffers->values.data();
    base::for_blocks(column.num_rows, base::call_watch(options.on_progress),
                     [&](std::uint64_t begin, std::uint64_t end) {
                       std::memcpy(sorted + begin * width, values_of(column) + begin * width, (end - begin) * width);
                     });
    sorter own(options);
    sorting::flowing_calls::dispose(own);
    own.sort(key_span{column.layout.type, sorted, column.num_rows}, d);
    open.finish();
    arrow_rows result{.schema = table.schema, .columns = {}, .num_rows = table.num_rows};
    result.columns.push_back(column_in(column.layout, column.num_rows, std::move(buffers)));
    return result;
  });
}

}  // namespace spansort::table
