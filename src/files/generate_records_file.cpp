// SPDX-License-Identifier: Apache-2.0
// generate_records_file(): a piece at a time, so that memory does not grow with the file.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/byte_buffer.hpp"
#include "files/element_sinks.hpp"
#include "files/page_cache.hpp"
#include "files/shown_progress.hpp"
#include "spansort/errors.hpp"
#include "spansort/files.hpp"
#include "spansort/records.hpp"

namespace spansort {
namespace {
constexpr std::uint64_t most_piece_records = std::uint64_t{1} << 16;
}

void generate_records_file(const std::string& output, std::uint64_t num_records, std::uint64_t seed,
                           const temporary_file_callback& on_temporary, const progress_callback& on_progress) {
  constexpr auto most_bytes = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (num_records > most_bytes / generated_record_bytes) {
    throw invalid_argument(fmt::format("{}: {} records of {} bytes are more than a file can hold, which is 2^63 bytes",
                                       output, num_records, generated_record_bytes));
  }
  const files::output_target target = files::find_output(output);
  const std::uint64_t num_bytes = num_records * generated_record_bytes;
  files::require_free_space(target, num_bytes);

  const auto sink =
      files::make_record_sink(target, generated_record_bytes,
                              {.keeps_page_cache = files::fits_page_cache(num_bytes), .on_temporary = on_temporary});
  sink->expect(num_records);
  const std::uint64_t piece_records = std::min(num_records, most_piece_records);
  base::byte_buffer piece(piece_records * generated_record_bytes);
  files::shown_progress shown(on_progress);
  shown.begin("write", 0, 1);
  for (std::uint64_t first = 0; first < num_records; first += piece_records) {
    shown.reach(first, num_records);
    const std::uint64_t count = std::min(piece_records, num_records - first);
    generate_records(piece.bytes().first(count * generated_record_bytes), first, seed);
    sink->write(piece.data(), count);
  }
  sink->finish();
}

}  // namespace spansort
