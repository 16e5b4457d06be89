// SPDX-License-Identifier: Apache-2.0
#include "files/spooled_stream.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <span>

#include "base/byte_buffer.hpp"
#include "files/external/spill_store.hpp"
#include "files/io/input.hpp"
#include "spansort/errors.hpp"

namespace spansort::files {
namespace {

constexpr std::uint64_t spooled_piece_bytes = std::uint64_t{4} << 20;

[[noreturn]] void throw_unwritable(const std::string& folder, int code) {
  const char* const advice =
      code == ENOSPC || code == EDQUOT ? "; free some space, or name another folder with -T" : "";
  throw io_error(
      fmt::format("cannot write standard input to a temporary file in {}: {}{}", folder, error_text(code), advice),
      code);
}

}  // namespace

spooled_stream::spooled_stream(const std::vector<std::string>& folders, shown_progress& shown)
    : file_(external::open_temporary_file(folders.front())) {
  input_file input("-");
  base::byte_buffer piece(spooled_piece_bytes);
  while (true) {
    const std::size_t num_read = input.read(piece.bytes(), shown.transfer());
    const transfer_result done = write_fully(file_.get(), piece.bytes().first(num_read));
    if (done.error_code != 0) throw_unwritable(folders.front(), done.error_code);
    if (num_read < spooled_piece_bytes) return;
  }
}

std::string spooled_stream::path() const { return fmt::format("/proc/self/fd/{}", file_.get()); }

}  // namespace spansort::files
