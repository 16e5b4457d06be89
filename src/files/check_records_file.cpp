// SPDX-License-Identifier: Apache-2.0
// check_records_file(): the order of a file of records of any size, or a stream, chunk after chunk.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/threads.hpp"
#include "files/check_records.hpp"
#include "files/element_sources.hpp"
#include "files/external/check_elements.hpp"
#include "files/page_cache.hpp"
#include "files/record_order.hpp"
#include "files/shown_progress.hpp"
#include "spansort/files.hpp"

namespace spansort {
namespace {

/// Read, then checked, at a time: enough for all processors, and little memory.
constexpr std::uint64_t records_chunk_bytes = std::uint64_t{16} << 20;

constexpr std::uint32_t most_shown_bytes = 16;

std::string field_text(const record_key& key, const std::byte* record) {
  if (key.type) {
    std::uint64_t number = 0;
    std::memcpy(&number, record + key.offset, key.size_bytes);
    return key_to_string({*key.type, &number, 1}, 0);
  }
  std::string text = "0x";
  for (std::uint32_t i = 0; i < std::min(key.size_bytes, most_shown_bytes); ++i) {
    text += fmt::format("{:02x}", std::to_integer<unsigned>(record[key.offset + i]));
  }
  return key.size_bytes > most_shown_bytes ? text + "..." : text;
}

/// The record's fields as a person would write them: "0x0011, -3".
std::string record_text(const record_format& format, const std::vector<std::byte>& record) {
  std::string text;
  for (const record_key& key : format.keys) text += (text.empty() ? "" : ", ") + field_text(key, record.data());
  return text;
}

}  // namespace

file_check files::check_records(external::element_source& source, const record_format& format,
                                const check_options& options) {
  const auto order = files::make_record_order(format, options.direction, {});
  const std::uint64_t record_bytes = order->element_bytes();
  const std::uint64_t num_at_once =
      std::min(records_chunk_bytes / record_bytes, source.num_elements().value_or(records_chunk_bytes) + 1);
  const external::elements_check found = base::with_threads(options.threads, [&] {
    return external::check_elements(source, record_bytes, num_at_once, external::check_of(*order, options.unique));
  });
  file_check result{.elements = fmt::format("record of {} bytes by {}", record_bytes, to_string(format.keys)),
                    .keys = found.whole};
  if (!found.whole.first_disorder) return result;
  result.disordered = record_text(format, found.disordered);
  result.left_neighbour = record_text(format, found.left_neighbour);
  return result;
}

file_check check_records_file(const std::string& path, const record_format& format, const check_options& options) {
  check_record_format(format);
  const std::uint64_t record_bytes = format.record_bytes;
  files::shown_progress shown(options.on_progress, "");
  shown.begin("check", 0, 1);
  auto source = files::make_record_source(path, record_bytes, {.on_progress = shown.transfer()});
  if (!files::fits_page_cache(source->num_elements().value_or(0) * record_bytes)) {
    source =
        files::make_record_source(path, record_bytes, {.keeps_page_cache = false, .on_progress = shown.transfer()});
  }
  return files::check_records(*source, format, options);
}

}  // namespace spansort
