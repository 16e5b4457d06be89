// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <concepts>
#include <limits>

#include "base/byte_buffer.hpp"
#include "base/threads.hpp"
#include "sort/group_sort.hpp"
#include "sort/sort_observer.hpp"
#include "sort/values.hpp"
#include "spansort/errors.hpp"
#include "spansort/table.hpp"
#include "table/check_column.hpp"
#include "table/row_keys.hpp"

namespace spansort {
namespace {

std::uint64_t words_bytes_of(std::uint64_t num_rows) {
  constexpr std::uint64_t most = static_cast<std::uint64_t>(std::numeric_limits<std::ptrdiff_t>::max());
  if (num_rows <= most / sizeof(std::uint64_t)) return num_rows * sizeof(std::uint64_t);
  throw invalid_argument(fmt::format("argsort_table: {} rows are more than memory can hold", num_rows));
}

template <std::unsigned_integral Index>
void order_rows(const table::row_keys& keys, std::span<Index> indices, std::uint64_t num_columns,
                const sort_options& options) {
  const std::uint64_t words_bytes = words_bytes_of(indices.size());
  sorting::require_memory(indices.size(), words_bytes, options.memory_limit_bytes);
  sorting::sort_observer observer(options);
  // Sorts of few words that nobody watches take a short way.
  const bool is_watched = options.on_progress || options.report != nullptr;
  sort_options of_words = is_watched ? observer.observed(options) : options;
  if (of_words.memory_limit_bytes != 0) of_words.memory_limit_bytes -= words_bytes;
  sorter words_sorter(of_words);
  base::byte_buffer words(words_bytes);
  const sorting::order_steps steps = observer.steps();
  sorting::run_beside(words_bytes, [&] {
    sorting::sort_by_groups({.keys = keys,
                             .words = {reinterpret_cast<std::uint64_t*>(words.data()), indices.size()},
                             .words_sorter = words_sorter,
                             .watch = base::call_watch(of_words.on_progress),
                             .on_first_sorted = is_watched ? steps.on_first_sorted : nullptr},
                            indices);
  });
  if (!is_watched) return;
  steps.on_ordered();
  observer.finish({.operation = "argsort_table",
                   .elements = fmt::format("rows by {} columns", num_columns),
                   .num_elements = indices.size(),
                   .workspace_bytes = words_bytes + words_sorter.workspace_bytes()});
}

template <std::unsigned_integral Index>
void argsort_with(std::span<const sort_column> by, std::span<Index> indices, const sort_options& options) {
  const table::row_keys keys(by, indices.size());
  order_rows(keys, indices, by.size(), options);
}

}  // namespace

void table::argsort_rows(const row_keys& keys, std::span<std::uint64_t> order, const sort_options& options) {
  order_rows(keys, order, 1, options);
}

void detail::argsort_table(std::span<const sort_column> by, std::uint64_t num_rows, void* indices,
                           std::uint64_t index_bytes, const sort_options& options) {
  for (const sort_column& column : by) table::check_order(column.order);
  base::with_threads(options.threads, [&] {
    if (index_bytes == sizeof(std::uint32_t)) {
      return argsort_with(by, std::span(static_cast<std::uint32_t*>(indices), num_rows), options);
    }
    argsort_with(by, std::span(static_cast<std::uint64_t*>(indices), num_rows), options);
  });
}

}  // namespace spansort
