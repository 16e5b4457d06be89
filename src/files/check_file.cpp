// SPDX-License-Identifier: Apache-2.0
// check_file(): the checker on a file of any size or a stream, chunk after chunk.
#include <algorithm>

#include "files/element_sources.hpp"
#include "files/external/check_elements.hpp"
#include "files/page_cache.hpp"
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

file_check check_file(const std::string& path, std::optional<key_type> type, const check_options& options) {
  files::key_reader reader(path, type);
  const key_type found_type = reader.layout().type;
  const std::uint64_t key_bytes = size_bytes(found_type);
  const bool keeps_page_cache = files::fits_page_cache(reader.num_keys().value_or(0) * key_bytes);
  const auto source = files::make_key_source(std::move(reader), {.keeps_page_cache = keeps_page_cache});
  const external::elements_check found = external::check_elements(
      *source, key_bytes, std::min(chunk_bytes / key_bytes, source->num_elements().value_or(chunk_bytes) + 1),
      [&](const std::byte* keys, std::uint64_t count, bool has_left) {
        return check_chunk({found_type, keys, count}, has_left, options);
      });
  file_check result{.type = found_type, .keys = found.whole};
  if (!found.whole.first_disorder) return result;
  result.disordered = key_to_string({found_type, found.disordered.data(), 1}, 0);
  result.left_neighbour = key_to_string({found_type, found.left_neighbour.data(), 1}, 0);
  return result;
}

}  // namespace spansort
