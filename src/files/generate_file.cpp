// SPDX-License-Identifier: Apache-2.0
// generate_file(): keys of a distribution into a file of any size, piece after piece.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/byte_buffer.hpp"
#include "files/element_sinks.hpp"
#include "files/io/key_writer.hpp"
#include "files/io/npy.hpp"
#include "files/page_cache.hpp"
#include "files/shown_progress.hpp"
#include "spansort/errors.hpp"
#include "spansort/files.hpp"

namespace spansort {
namespace {

/// Made, then written, at a time: enough for all processors, and little memory.
constexpr std::uint64_t generated_piece_bytes = std::uint64_t{16} << 20;

/// No file is longer, and no count of bytes below overflows.
void require_possible(const std::string& output, key_type type, std::uint64_t num_keys) {
  constexpr std::uint64_t most_bytes = std::numeric_limits<std::int64_t>::max() - files::npy_max_header_bytes;
  if (num_keys <= most_bytes / size_bytes(type)) return;
  throw invalid_argument(
      fmt::format("{}: {} {} keys are more than a file can hold, which is 2^63 bytes", output, num_keys, name(type)));
}

}  // namespace

void generate_file(const std::string& output, key_type type, std::uint64_t num_keys, const distribution& d,
                   std::uint64_t seed, const temporary_file_callback& on_temporary,
                   const progress_callback& on_progress) {
  generate_part({type, nullptr, 0}, d, seed, 0, num_keys);  // refuses a wrong distribution before anything else
  require_possible(output, type, num_keys);
  const files::output_target target = files::find_output(output);
  const files::key_layout layout = files::output_layout(target, output, {files::file_format::raw, type});
  const std::uint64_t num_bytes = files::file_bytes(layout, num_keys);
  files::require_free_space(target, num_bytes);

  const auto sink = files::make_key_sink(
      target, layout, {.keeps_page_cache = files::fits_page_cache(num_bytes), .on_temporary = on_temporary});
  sink->expect(num_keys);
  const std::uint64_t piece_keys = std::min(num_keys, generated_piece_bytes / size_bytes(type));
  base::byte_buffer piece(piece_keys * size_bytes(type));
  files::shown_progress shown(on_progress);
  shown.begin("write", 0, 1);
  for (std::uint64_t first = 0; first < num_keys; first += piece_keys) {
    shown.reach(first, num_keys);
    const key_span part{type, piece.data(), std::min(piece_keys, num_keys - first)};
    generate_part(part, d, seed, first, num_keys);
    sink->write(piece.data(), part.num_keys);
  }
  sink->finish();
}

}  // namespace spansort
