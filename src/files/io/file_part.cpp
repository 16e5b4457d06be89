// SPDX-License-Identifier: Apache-2.0
#include "files/io/file_part.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>

#include <cerrno>

#include "files/io/file_descriptor.hpp"
#include "spansort/errors.hpp"

namespace spansort::files {
namespace {

[[noreturn]] void fail(const char* action, const shared_file& whole, int code) {
  throw io_error(fmt::format("cannot {} {}: {}{}", action, whole.target.name, error_text(code),
                             write_failure_advice(whole.target, code, whole.size_bytes)),
                 code);
}

}  // namespace

void write_file_part(const shared_file& whole, std::uint64_t offset, std::span<const std::byte> bytes) {
  file_descriptor file = open_file(whole.path.c_str(), O_WRONLY | O_NOFOLLOW);
  if (!file.is_open()) fail("write", whole, errno);
  if (::lseek(file.get(), static_cast<off_t>(offset), SEEK_SET) < 0) fail("write", whole, errno);
  const transfer_result done = write_fully(file.get(), bytes);
  if (done.error_code != 0) fail("write", whole, done.error_code);
  if (whole.is_synced && ::fsync(file.get()) != 0) fail("sync", whole, errno);
  if (const int code = file.close(); code != 0) fail("write", whole, code);
}

}  // namespace spansort::files
