// SPDX-License-Identifier: Apache-2.0
#include "files/io/file_part.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>

#include <cerrno>
#include <utility>

#include "spansort/errors.hpp"

namespace spansort::files {
namespace {

/// The disk is told of so many bytes at a time. The writer waits for those that it told one time earlier.
constexpr std::uint64_t drop_bytes = std::uint64_t{16} << 20;

}  // namespace

file_part::file_part(shared_file whole, std::uint64_t offset)
    : whole_(std::move(whole)), end_bytes_(offset), dropped_bytes_(offset), started_bytes_(offset) {
  file_ = open_file(whole_.path.c_str(), O_WRONLY | O_NOFOLLOW);
  if (!file_.is_open()) fail("write", errno);
  if (::lseek(file_.get(), static_cast<off_t>(offset), SEEK_SET) < 0) fail("write", errno);
}

void file_part::fail(const char* action, int code) const {
  throw io_error(fmt::format("cannot {} {}: {}{}", action, whole_.target.name, error_text(code),
                             write_failure_advice(whole_.target, code, whole_.size_bytes)),
                 code);
}

void file_part::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const std::span<const std::byte> piece =
        drops_pages_ && bytes.size() > drop_bytes ? bytes.first(drop_bytes) : bytes;
    const transfer_result done = write_fully(file_.get(), piece);
    if (done.error_code != 0) fail("write", done.error_code);
    end_bytes_ += piece.size();
    bytes = bytes.subspan(piece.size());
    if (drops_pages_ && end_bytes_ - started_bytes_ >= drop_bytes) drop_pages_behind();
  }
}

/// File systems that know nothing of this write when they see fit. What the disk refuses is told here alone: fsync()
/// would not tell it again.
void file_part::drop_pages_behind() {
  const auto sync = [&](std::uint64_t begin, std::uint64_t end, unsigned flags) {
    if (begin == end ||
        ::sync_file_range(file_.get(), static_cast<off_t>(begin), static_cast<off_t>(end - begin), flags) == 0)
      return;
    if (errno == EIO || errno == ENOSPC || errno == EDQUOT) fail("write", errno);
  };
  sync(started_bytes_, end_bytes_, SYNC_FILE_RANGE_WRITE);
  sync(dropped_bytes_, started_bytes_,
       SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
  ::posix_fadvise(file_.get(), static_cast<off_t>(dropped_bytes_), static_cast<off_t>(started_bytes_ - dropped_bytes_),
                  POSIX_FADV_DONTNEED);
  dropped_bytes_ = started_bytes_;
  started_bytes_ = end_bytes_;
}

void file_part::finish() {
  if (whole_.is_synced && ::fsync(file_.get()) != 0) fail("sync", errno);
  if (const int code = file_.close(); code != 0) fail("write", code);
}

}  // namespace spansort::files
