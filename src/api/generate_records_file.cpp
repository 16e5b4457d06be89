// SPDX-License-Identifier: Apache-2.0
// generate_records_file(): a piece at a time, so that memory does not grow with the file.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "files/atomic_file.hpp"
#include "files/byte_buffer.hpp"
#include "files/output_target.hpp"
#include "spansort/errors.hpp"
#include "spansort/files.hpp"
#include "spansort/records.hpp"

namespace spansort {
namespace {
constexpr std::uint64_t piece_records = std::uint64_t{1} << 16;
}

void generate_records_file(const std::string& output, std::uint64_t num_records, std::uint64_t seed,
                           const temporary_file_callback& on_temporary) {
  constexpr auto most_bytes = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (num_records > most_bytes / generated_record_bytes) {
    throw invalid_argument(fmt::format("{}: {} records of {} bytes are more than a file can hold", output, num_records,
                                       generated_record_bytes));
  }
  const files::output_target target = files::find_output(output);
  const std::uint64_t size_bytes = num_records * generated_record_bytes;
  files::require_free_space(target, size_bytes);
  files::atomic_file file(target, size_bytes, on_temporary);
  files::byte_buffer piece(std::min(num_records, piece_records) * generated_record_bytes);
  for (std::uint64_t first = 0; first < num_records; first += piece_records) {
    const std::uint64_t count = std::min(piece_records, num_records - first);
    const auto bytes = piece.bytes().first(count * generated_record_bytes);
    generate_records(bytes, first, seed);
    file.write(bytes);
  }
  file.commit();
}

}  // namespace spansort
