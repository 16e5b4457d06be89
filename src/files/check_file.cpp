// SPDX-License-Identifier: Apache-2.0
// check_file(): the checker on a file of any size or a stream, chunk after chunk.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "base/threads.hpp"
#include "files/array_axis.hpp"
#include "files/check_records.hpp"
#include "files/element_sources.hpp"
#include "files/external/check_elements.hpp"
#include "files/page_cache.hpp"
#include "files/row_blocks.hpp"
#include "files/row_checks.hpp"
#include "files/shown_progress.hpp"
#include "files/typed_input.hpp"
#include "spansort/files.hpp"

namespace spansort {
namespace {

/// Read, then checked, at a time: enough for all processors, and little memory.
constexpr std::uint64_t chunk_bytes = std::uint64_t{16} << 20;

/// check() sees the left neighbour as a key of its own; what it adds is taken away again.
check_result check_chunk(const_key_span keys, bool has_left, const check_options& options) {
  if (!has_left) return check(keys, options);
  const const_key_span left(keys.type, static_cast<const std::byte*>(keys.data) - size_bytes(keys.type), 1);
  check_result found = check({keys.type, left.data, keys.num_keys + 1}, options);
  const multiset_checksum of_left = checksum(left);
  for (std::size_t i = 0; i < 2; ++i) found.checksum.words[i] -= of_left.words[i];
  found.num_keys = keys.num_keys;
  if (found.first_disorder) --*found.first_disorder;
  return found;
}

}  // namespace

namespace {

/// The keys are of their own bits again; a check has found them in another form.
std::string key_text(const files::typed_input& input, const files::key_layout& layout, std::vector<std::byte> key) {
  if (!input.is_time) return key_to_string({layout.type, key.data(), 1}, 0);
  std::int64_t count = 0;
  std::memcpy(&count, key.data(), sizeof(count));
  if (layout.lowers_times) count = static_cast<std::int64_t>(static_cast<std::uint64_t>(count) + 1);
  return count == std::numeric_limits<std::int64_t>::min() ? "NaT" : fmt::format("{}", count);
}

file_check check_keys(files::typed_input input, const check_options& options, files::shown_progress& shown) {
  const files::key_layout layout = input.reader.layout();
  const std::uint64_t key_bytes = size_bytes(layout.type);
  const bool keeps_page_cache = files::fits_page_cache(input.reader.num_keys().value_or(0) * key_bytes);
  const auto source = files::make_key_source(std::move(input.reader),
                                             {.keeps_page_cache = keeps_page_cache, .on_progress = shown.transfer()});
  const external::elements_check found = external::check_elements(
      *source, key_bytes, std::min(chunk_bytes / key_bytes, source->num_elements().value_or(chunk_bytes) + 1),
      [&](const std::byte* keys, std::uint64_t count, bool has_left) {
        return check_chunk({layout.type, keys, count}, has_left, options);
      });
  file_check result{.type = layout.type, .elements = input.elements, .keys = found.whole};
  if (!found.whole.first_disorder) return result;
  result.disordered = key_text(input, layout, found.disordered);
  result.left_neighbour = key_text(input, layout, found.left_neighbour);
  return result;
}

/// The place in memory of the key at `index` of the rows of a block.
std::uint64_t place_of(const files::array_axis& axis, std::uint64_t index) {
  const std::uint64_t row = index / axis.length;
  return row / axis.inner * axis.unit_elements() + index % axis.length * axis.inner + row % axis.inner;
}

/// Adds what a block says to the whole; no row has a neighbour in another.
void add_rows(const files::typed_input& input, const files::key_layout& layout, const files::array_axis& axis,
              const const_key_span& keys, const check_options& options, file_check& whole) {
  const auto disorder = files::first_row_disorder(keys, axis.length, options.direction, options.unique);
  check_result& sum = whole.keys;
  if (disorder && !sum.first_disorder) {
    const std::uint64_t width = size_bytes(keys.type);
    const std::byte* const at = static_cast<const std::byte*>(keys.data) + *disorder * width;
    sum.first_disorder = sum.num_keys + place_of(axis, *disorder);
    whole.disordered = key_text(input, layout, {at, at + width});
    whole.left_neighbour = key_text(input, layout, {at - width, at});
  }
  sum.is_in_order = sum.is_in_order && !files::first_row_disorder(keys, axis.length, options.direction, false);
  sum.num_duplicates += files::num_row_duplicates(keys, axis.length, options.direction);
  sum.checksum = sum.checksum + checksum(keys);
  sum.num_keys += keys.num_keys;
}

file_check check_along_axis(files::typed_input input, int axis, const check_options& options,
                            files::shown_progress& shown) {
  const files::array_axis along = files::axis_of(*input.reader.array(), axis, input.reader.name());
  const files::key_layout layout = input.reader.layout();
  const std::uint64_t unit_bytes =
      std::max<std::uint64_t>(files::row_blocks::block_bytes(along, layout.element_bytes(), 1), 1);
  file_check result{.type = layout.type, .elements = input.elements};
  files::row_blocks rows(std::move(input.reader), along, std::max<std::uint64_t>(chunk_bytes / unit_bytes, 1));
  const files::transfer_progress show = shown.transfer();
  base::with_threads(options.threads, [&] {
    for (files::row_block block = rows.next(show); !block.is_empty(); block = rows.next(show)) {
      add_rows(input, layout, along, {layout.type, block.keys, block.num_rows * along.length}, options, result);
    }
  });
  return result;
}

}  // namespace

file_check check_file(const std::string& path, std::optional<key_type> type, const check_options& options,
                      const array_options& array) {
  files::typed_input input = files::open_typed_input(path, {type, array, options.direction});
  files::shown_progress shown(options.on_progress, "");
  shown.begin("check", 0, 1);
  if (input.is_along_axis) return check_along_axis(std::move(input), *array.axis, options, shown);
  if (!input.records) return check_keys(std::move(input), options, shown);
  const record_format format = *input.records;
  const bool keeps_page_cache =
      files::fits_page_cache(input.reader.num_keys().value_or(0) * std::uint64_t{format.record_bytes});
  const auto source = files::make_key_source(std::move(input.reader),
                                             {.keeps_page_cache = keeps_page_cache, .on_progress = shown.transfer()});
  file_check result = files::check_records(*source, format, options);
  result.elements = input.elements;
  return result;
}

}  // namespace spansort
