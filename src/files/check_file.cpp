// SPDX-License-Identifier: Apache-2.0
// check_file(): the checker on a file of any size or a stream, chunk after chunk.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "files/check_records.hpp"
#include "files/element_sources.hpp"
#include "files/external/check_elements.hpp"
#include "files/page_cache.hpp"
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

file_check check_keys(files::typed_input input, const check_options& options) {
  const files::key_layout layout = input.reader.layout();
  const std::uint64_t key_bytes = size_bytes(layout.type);
  const bool keeps_page_cache = files::fits_page_cache(input.reader.num_keys().value_or(0) * key_bytes);
  const auto source = files::make_key_source(std::move(input.reader), {.keeps_page_cache = keeps_page_cache});
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

}  // namespace

file_check check_file(const std::string& path, std::optional<key_type> type, const check_options& options,
                      const std::vector<field_key>& fields) {
  files::typed_input input = files::open_typed_input(path, {type, fields, options.direction});
  if (!input.records) return check_keys(std::move(input), options);
  const record_format format = *input.records;
  const bool keeps_page_cache =
      files::fits_page_cache(input.reader.num_keys().value_or(0) * std::uint64_t{format.record_bytes});
  const auto source = files::make_key_source(std::move(input.reader), {.keeps_page_cache = keeps_page_cache});
  file_check result = files::check_records(*source, format, options);
  result.elements = input.elements;
  return result;
}

}  // namespace spansort
