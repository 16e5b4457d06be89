// SPDX-License-Identifier: Apache-2.0
// sort_records(): argument checks, memory, progress and report around the record sorter.
#include <fmt/format.h>

#include <limits>

#include "base/threads.hpp"
#include "records/record_sorter.hpp"
#include "sort/sort_observer.hpp"
#include "spansort/errors.hpp"
#include "spansort/records.hpp"

namespace spansort {
namespace {

void require_addressable(const void* records, std::uint64_t num_records, std::uint32_t record_bytes) {
  if (records == nullptr && num_records != 0) {
    throw invalid_argument(fmt::format("records are null, but {} of them are to be sorted", num_records));
  }
  if (num_records > static_cast<std::uint64_t>(std::numeric_limits<std::ptrdiff_t>::max()) / record_bytes) {
    throw invalid_argument(
        fmt::format("{} records of {} bytes are more than memory can hold", num_records, record_bytes));
  }
}

}  // namespace

void sort_records(void* records, std::uint64_t num_records, const record_format& format, direction d,
                  const sort_options& options) {
  check_record_format(format);
  require_addressable(records, num_records, format.record_bytes);
  const std::uint64_t own_bytes = records::record_sorter::buffer_bytes(format.record_bytes, num_records);
  sorting::require_memory(num_records, own_bytes, options.memory_limit_bytes);

  sorting::sort_observer observer(options);
  sort_options inner = observer.observed(options);
  if (inner.memory_limit_bytes != 0) inner.memory_limit_bytes -= own_bytes;
  records::record_sorter own(format, d, inner);
  sorting::run_beside(own_bytes, [&] {
    base::with_threads(options.threads,
                       [&] { own.sort(static_cast<std::byte*>(records), num_records, observer.steps()); });
  });
  observer.finish({.operation = "sort_records",
                   .elements = fmt::format("record of {} bytes", format.record_bytes),
                   .num_elements = num_records,
                   .moved_bytes = 4 * num_records * format.record_bytes,
                   .workspace_bytes = own.held_bytes()});
}

}  // namespace spansort
