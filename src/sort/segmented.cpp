// SPDX-License-Identifier: Apache-2.0
// The functions of segmented.hpp: checks of arguments, and values of widths that do not travel with their keys.
#include "spansort/segmented.hpp"

#include <fmt/format.h>

#include <new>

#include "base/available_memory.hpp"
#include "base/byte_buffer.hpp"
#include "base/threads.hpp"
#include "device/copy_parallel.hpp"
#include "report/open_report.hpp"
#include "sort/arguments.hpp"
#include "sort/segment_work.hpp"
#include "sort/segments.hpp"
#include "sort/values.hpp"
#include "spansort/errors.hpp"

namespace spansort {
namespace {

using device::segment_bounds;
using sorting::large_segment;
using sorting::segments_call;

/// Bounds that have not been looked at, and where they have to end.
struct stated_bounds {
  segment_bounds bounds;
  std::uint64_t most_end = 0;
};

stated_bounds stated_by(const const_key_span& offsets, const const_key_span& keys) {
  const segment_bounds bounds = sorting::bounds_of_offsets(offsets);
  const auto overlaps = [](const const_key_span& a, const const_key_span& b) {
    const auto* const begin = static_cast<const char*>(a.data);
    const auto* const other = static_cast<const char*>(b.data);
    return begin < other + b.num_keys * size_bytes(b.type) && other < begin + a.num_keys * size_bytes(a.type);
  };
  if (keys.num_keys != 0 && overlaps(offsets, keys)) throw invalid_argument("keys and offsets overlap");
  return {bounds, sorting::most_offset(offsets.type, keys.num_keys)};
}

stated_bounds stated_by(std::uint64_t row_length, const const_key_span& keys) {
  return {sorting::bounds_of_rows(row_length, keys.num_keys), keys.num_keys};
}

void check_options(const sort_options& options) {
  if (options.devices.what() == device_list::kind::gpu) {
    throw invalid_argument("segments of host memory are sorted by the CPU: devices auto, cpu or host:N are expected");
  }
  if (options.algorithm != algorithm::automatic && options.algorithm != algorithm::single) {
    throw invalid_argument(fmt::format("segments are not sorted by algorithm {}", name(options.algorithm)));
  }
}

/// Calls work() and makes of memory that ends what the interface says of it.
template <class Work>
void with_memory(const Work& work) {
  try {
    work();
  } catch (const std::bad_alloc&) {
    throw out_of_memory("no memory to sort segments", 0, base::available_memory_bytes());
  }
}

void require_memory_within(std::uint64_t limit_bytes, std::uint64_t needed_bytes) {
  if (limit_bytes == 0 || needed_bytes <= limit_bytes) return;
  throw out_of_memory(fmt::format("sorting segments may take {} bytes of workspace, more than the limit of {}",
                                  needed_bytes, limit_bytes),
                      needed_bytes, limit_bytes);
}

/// Indices of 32 bits count the keys of a segment, not those of the array.
void check_segment_indices(const std::vector<large_segment>& large, std::uint64_t index_bytes) {
  if (index_bytes != sizeof(std::uint32_t)) return;
  for (const large_segment& s : large) {
    if (s.num_keys > (std::uint64_t{1} << 31)) {
      throw invalid_argument(fmt::format("a segment of {} keys needs 64-bit indices", s.num_keys));
    }
  }
}

/// Values that do not travel: indices do, and the values are gathered once. Where memory ends in the midst of the sort,
/// each segment has its indices sorted or as they were, and so the values that belong to its keys.
void sort_with_index(const segments_call& call, const std::vector<large_segment>& large, std::uint64_t num_keys,
                     std::uint64_t value_bytes, unsigned threads) {
  base::byte_buffer indices(num_keys * sizeof(std::uint64_t));
  base::byte_buffer gathered(num_keys * value_bytes);
  sorting::write_indices(indices.data(), sizeof(std::uint64_t), num_keys);
  segments_call by_index = call;
  by_index.data.values = indices.data();
  const auto move_values = [&] {
    sorting::gather(gathered.data(), call.data.values, reinterpret_cast<const std::uint64_t*>(indices.data()), num_keys,
                    value_bytes);
    device::copy_parallel(call.data.values, gathered.data(), num_keys * value_bytes);
  };
  try {
    sorting::sort_segments_on_cpu(by_index, large, threads);
  } catch (...) {
    move_values();
    throw;
  }
  move_values();
}

/// Sorts what has been checked but for the bounds. `value_bytes` are those of the caller's values.
void sort_checked(const char* name, segments_call call, const stated_bounds& stated, std::uint64_t num_keys,
                  std::uint64_t value_bytes, const sort_options& options) {
  check_options(options);
  const unsigned threads = base::resolve_threads(options.threads);
  report::open_report open(options.report, name);
  const bool travels = value_bytes == call.shape.value_bytes;
  std::uint64_t workspace_bytes = 0;
  const auto work = [&] {
    const std::vector<large_segment> large =
        sorting::check_segments(call.bounds, stated.most_end, sorting::most_small_keys(call.shape, call.is_order));
    if (call.is_order) check_segment_indices(large, value_bytes);
    const std::uint64_t index_bytes = travels ? 0 : num_keys * (sizeof(std::uint64_t) + value_bytes);
    workspace_bytes = sorting::segments_memory_bytes(call, large, options.threads) + index_bytes;
    require_memory_within(options.memory_limit_bytes, workspace_bytes);
    if (travels) {
      sorting::sort_segments_on_cpu(call, large, options.threads);
    } else {
      sort_with_index(call, large, num_keys, value_bytes, options.threads);
    }
  };
  constexpr std::uint64_t few = std::uint64_t{1} << 14;  // other threads would come too late
  with_memory([&] {
    if (num_keys + call.bounds.num_segments() <= few) return work();
    base::with_threads(threads, work);
  });
  if (options.report == nullptr) return;
  options.report->key_type = spansort::name(call.shape.codec.type);
  options.report->algorithm = "segments";
  options.report->picked = "on the CPU: segments of host memory are sorted there";
  options.report->input_shape = "unknown";
  options.report->descending = call.shape.codec.descending;
  options.report->num_keys = num_keys;
  options.report->workspace_bytes = workspace_bytes;
  options.report->value_bytes = value_bytes;
  open.finish();
}

void sort_keys_of(key_span keys, const stated_bounds& stated, direction d, const sort_options& options) {
  const keys::key_codec codec{keys.type, keys::is_descending(d), keys::tie_rule::by_bits};
  sort_checked("sort_segments", {.shape = {codec, 0}, .data = {keys.data, nullptr}, .bounds = stated.bounds}, stated,
               keys.num_keys, 0, options);
}

void sort_pairs_of(key_span keys, void* values, std::uint64_t value_bytes, const stated_bounds& stated, direction d,
                   const sort_options& options) {
  sorting::check_values(keys, values, value_bytes);
  const keys::key_codec codec{keys.type, keys::is_descending(d), keys::tie_rule::by_input_order};
  const bool travels = value_bytes == 4 || value_bytes == 8 || value_bytes == 16;
  const unsigned width = travels ? static_cast<unsigned>(value_bytes) : sizeof(std::uint64_t);
  sort_checked("sort_pairs_segments", {.shape = {codec, width}, .data = {keys.data, values}, .bounds = stated.bounds},
               stated, keys.num_keys, value_bytes, options);
}

void argsort_of(const_key_span keys, void* indices, std::uint64_t index_bytes, const stated_bounds& stated, direction d,
                const sort_options& options) {
  // The segments decide whether 32 bits are enough.
  sorting::check_index_width(0, index_bytes);
  sorting::check_index_memory(keys, indices, index_bytes);
  const keys::key_codec codec{keys.type, keys::is_descending(d), keys::tie_rule::by_input_order};
  sort_checked("argsort_segments",
               {.shape = {codec, static_cast<unsigned>(index_bytes)},
                .data = {const_cast<void*>(keys.data), indices},  // keys are only read
                .bounds = stated.bounds,
                .is_order = true},
               stated, keys.num_keys, index_bytes, options);
}

}  // namespace

void sort_segments(key_span keys, const_key_span offsets, direction d, const sort_options& options) {
  sorting::check_keys(keys);
  sort_keys_of(keys, stated_by(offsets, keys), d, options);
}

void sort_pairs_segments(key_span keys, void* values, std::uint64_t value_bytes, const_key_span offsets, direction d,
                         const sort_options& options) {
  sorting::check_keys(keys);
  sort_pairs_of(keys, values, value_bytes, stated_by(offsets, keys), d, options);
}

void argsort_segments(const_key_span keys, void* indices, std::uint64_t index_bytes, const_key_span offsets,
                      direction d, const sort_options& options) {
  sorting::check_keys(keys);
  argsort_of(keys, indices, index_bytes, stated_by(offsets, keys), d, options);
}

void sort_rows(key_span keys, std::uint64_t row_length, direction d, const sort_options& options) {
  sorting::check_keys(keys);
  sort_keys_of(keys, stated_by(row_length, keys), d, options);
}

void sort_pairs_rows(key_span keys, void* values, std::uint64_t value_bytes, std::uint64_t row_length, direction d,
                     const sort_options& options) {
  sorting::check_keys(keys);
  sort_pairs_of(keys, values, value_bytes, stated_by(row_length, keys), d, options);
}

void argsort_rows(const_key_span keys, void* indices, std::uint64_t index_bytes, std::uint64_t row_length, direction d,
                  const sort_options& options) {
  sorting::check_keys(keys);
  argsort_of(keys, indices, index_bytes, stated_by(row_length, keys), d, options);
}

}  // namespace spansort
