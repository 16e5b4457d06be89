// SPDX-License-Identifier: Apache-2.0
#include "files/io/file_part.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "spansort/errors.hpp"

namespace spansort::files {
namespace {

/// The disk is told of so many bytes at a time. The writer waits for those that it told one time earlier.
constexpr std::uint64_t drop_bytes = std::uint64_t{16} << 20;
/// Writes past the page cache begin and end at multiples of this, in the file and in memory.
constexpr std::uint64_t page_bytes = 4096;
/// One call writes no more, for the system takes memory for each.
constexpr std::uint64_t most_direct_bytes = std::uint64_t{4} << 20;

std::uint64_t whole_pages(std::uint64_t num_bytes) { return num_bytes / page_bytes * page_bytes; }

bool is_in_memory(int fd) {
  struct statfs system {};
  return ::fstatfs(fd, &system) == 0 && system.f_type == TMPFS_MAGIC;
}

}  // namespace

file_part::file_part(shared_file whole, std::uint64_t offset)
    : whole_(std::move(whole)), end_bytes_(offset), dropped_bytes_(offset), started_bytes_(offset) {
  file_ = open_file(whole_.path.c_str(), O_WRONLY | O_NOFOLLOW);
  if (!file_.is_open()) fail("write", errno);
}

void file_part::fail(const char* action, int code) const {
  throw io_error(fmt::format("cannot {} {}: {}{}", action, whole_.target.name, error_text(code),
                             write_failure_advice(whole_.target, code, whole_.size_bytes)),
                 code);
}

void file_part::pass_by_page_cache(std::uint64_t part_bytes, std::uint64_t buffer_bytes) {
  drops_pages_ = true;
  if (part_bytes < page_bytes || is_in_memory(file_.get())) return;
  direct_ = open_file(whole_.path.c_str(), O_WRONLY | O_NOFOLLOW | O_DIRECT);
  if (!direct_.is_open()) return;
  most_held_ = std::max(whole_pages(buffer_bytes), page_bytes);
  held_.reset(static_cast<std::byte*>(std::aligned_alloc(page_bytes, most_held_)));
  if (held_ == nullptr) throw out_of_memory("out of memory for writing a file", most_held_, 0);
  // Parts that lengthen the file would wait for each other. A refusal costs speed alone.
  static_cast<void>(::fallocate(file_.get(), 0, static_cast<off_t>(end_bytes_), static_cast<off_t>(part_bytes)));
}

void file_part::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const std::uint64_t in_page = end_bytes_ % page_bytes;
    const auto address = reinterpret_cast<std::uintptr_t>(bytes.data());
    std::size_t done = 0;
    if (!direct_.is_open()) {
      done = std::min<std::size_t>(bytes.size(), drops_pages_ ? drop_bytes : bytes.size());
      write_by_page_cache(end_bytes_, bytes.first(done));
    } else if (in_page != 0 && num_held_ == 0) {
      // Another part ends in the page in which this one begins.
      done = std::min<std::size_t>(bytes.size(), page_bytes - in_page);
      write_by_page_cache(end_bytes_, bytes.first(done));
    } else if (address % page_bytes != in_page) {
      done = hold(bytes, most_held_);
    } else if (in_page != 0 || bytes.size() < page_bytes) {
      done = hold(bytes, num_held_ + page_bytes - in_page);
    } else {
      write_held_pages();
      done = whole_pages(std::min<std::uint64_t>(bytes.size(), most_direct_bytes));
      write_directly(end_bytes_, bytes.first(done));
    }
    end_bytes_ += done;
    bytes = bytes.subspan(done);
    if (!direct_.is_open() && drops_pages_ && end_bytes_ - started_bytes_ >= drop_bytes) drop_pages_behind();
  }
}

void file_part::write_by_page_cache(std::uint64_t offset, std::span<const std::byte> bytes) {
  const transfer_result done = write_fully_at(file_.get(), offset, bytes);
  if (done.error_code != 0) fail("write", done.error_code);
}

/// The rest after a short count may not lie as direct access wants it: the page cache has no rules.
void file_part::write_directly(std::uint64_t offset, std::span<const std::byte> bytes) {
  const transfer_result done = write_fully_at(direct_.get(), offset, bytes);
  if (done.error_code != 0 && done.error_code != EINVAL) fail("write", done.error_code);
  write_by_page_cache(offset + done.num_bytes, bytes.subspan(done.num_bytes));
}

/// Copies bytes to what is held, of which there are no more than `most` then. Returns how many. There is room for one
/// at least afterwards.
std::size_t file_part::hold(std::span<const std::byte> bytes, std::size_t most) {
  const std::size_t count = std::min(bytes.size(), std::min<std::size_t>(most, most_held_) - num_held_);
  if (num_held_ == 0) held_at_ = end_bytes_;
  std::memcpy(held_.get() + num_held_, bytes.data(), count);
  num_held_ += count;
  if (num_held_ == most_held_) write_held_pages();
  return count;
}

/// Bytes that fill no page wait for the rest of theirs.
void file_part::write_held_pages() {
  const std::size_t count = whole_pages(num_held_);
  if (count == 0) return;
  write_directly(held_at_, {held_.get(), count});
  held_at_ += count;
  num_held_ -= count;
  std::memmove(held_.get(), held_.get() + count, num_held_);
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
  write_held_pages();
  write_by_page_cache(held_at_, {held_.get(), num_held_});
  if (whole_.is_synced && ::fsync(file_.get()) != 0) fail("sync", errno);
  if (const int code = file_.close(); code != 0) fail("write", code);
}

}  // namespace spansort::files
