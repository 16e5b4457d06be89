// SPDX-License-Identifier: Apache-2.0
#include "files/io/input.hpp"

#include <fcntl.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>

#include "files/io/parallel_read.hpp"
#include "spansort/errors.hpp"

namespace spansort::files {
namespace {

// Between two calls of the progress function.
constexpr std::size_t piece_bytes = std::size_t{8} << 20;

// Less is read before other threads have woken up.
constexpr std::size_t least_parallel_bytes = std::size_t{8} << 20;

[[noreturn]] void throw_io(const std::string& name, const char* action, int code) {
  throw io_error(fmt::format("cannot {} {}: {}", action, name, error_text(code)), code);
}

// Of character devices only the terminal and /dev/null end.
bool ends(const struct stat& status, int fd) { return ::isatty(fd) != 0 || status.st_rdev == makedev(1, 3); }

// Files made up by the kernel while they are read: their sizes mean nothing.
bool has_true_size(int fd) {
  constexpr std::array<long, 4> made_up{0x9fa0, 0x62656572, 0x64626720, 0x74726163};  // proc, sysfs, debugfs, tracefs
  struct statfs system {};
  return ::fstatfs(fd, &system) != 0 ||
         std::find(made_up.begin(), made_up.end(), static_cast<long>(system.f_type)) == made_up.end();
}

}  // namespace

std::string name_of_input(const std::string& path) {
  constexpr const char* from_standard_input = "standard input";
  if (path == "-") return from_standard_input;
  if (!path.starts_with("/proc/self/fd/")) return path;
  std::array<char, 4096> target{};
  const ssize_t length = ::readlink(path.c_str(), target.data(), target.size());
  const std::string_view found(target.data(), static_cast<std::size_t>(std::max<ssize_t>(length, 0)));
  return found.ends_with(" (deleted)") ? from_standard_input : path;
}

input_file::input_file(const std::string& path) : name_(name_of_input(path)) {
  // /dev/stdin may be a socket, which cannot be opened by name.
  if (path == "-" || path == "/dev/stdin") {
    fd_ = STDIN_FILENO;
  } else {
    owned_ = open_file(path.c_str(), O_RDONLY | O_NOCTTY);
    if (!owned_.is_open()) throw_io(name_, "open", errno);
    fd_ = owned_.get();
  }
  classify();
}

void input_file::classify() {
  if (::fstat(fd_, &status_) != 0) throw_io(name_, "read", errno);
  if (S_ISDIR(status_.st_mode)) throw bad_input(fmt::format("{}: is a directory, a file of keys is expected", name_));
  if (S_ISCHR(status_.st_mode) && !ends(status_, fd_)) {
    throw bad_input(fmt::format("{}: is a device that never ends; take the bytes you want with head -c first", name_));
  }
  // A size of 0 may be true or unknown; reading tells.
  if (!S_ISREG(status_.st_mode) || status_.st_size == 0 || !has_true_size(fd_)) return;
  const off_t offset = owned_.is_open() ? 0 : std::max<off_t>(::lseek(fd_, 0, SEEK_CUR), 0);
  size_bytes_ = static_cast<std::uint64_t>(std::max<off_t>(status_.st_size - offset, 0));
  if (*size_bytes_ > piece_bytes) ::posix_fadvise(fd_, offset, 0, POSIX_FADV_SEQUENTIAL);
}

std::size_t input_file::read(std::span<std::byte> into, const transfer_progress& progress) {
  if (size_bytes_ && !drops_pages_ && into.size() >= least_parallel_bytes) return read_parallel(into, progress);
  std::size_t done = 0;
  while (done < into.size()) {
    const std::size_t wanted = std::min(piece_bytes, into.size() - done);
    const transfer_result got = read_fully(fd_, into.subspan(done, wanted));
    done += got.num_bytes;
    bytes_read_ += got.num_bytes;
    if (got.error_code != 0) throw_io(name_, "read", got.error_code);
    if (drops_pages_ && size_bytes_) drop_pages_behind();
    if (progress) progress(bytes_read_, size_bytes_.value_or(0));
    if (got.num_bytes < wanted) break;
  }
  return done;
}

std::size_t input_file::read_parallel(std::span<std::byte> into, const transfer_progress& progress) {
  const off_t begin = ::lseek(fd_, 0, SEEK_CUR);
  if (begin < 0) throw_io(name_, "read", errno);
  const std::uint64_t read_before = bytes_read_;
  prefix_callback on_prefix;
  if (progress) on_prefix = [&](std::uint64_t num_bytes) { progress(read_before + num_bytes, *size_bytes_); };
  const transfer_result got = read_by_threads(fd_, into, static_cast<std::uint64_t>(begin), on_prefix);
  bytes_read_ += got.num_bytes;
  if (got.error_code != 0) throw_io(name_, "read", got.error_code);
  seek(static_cast<std::uint64_t>(begin) + got.num_bytes);  // who shares the descriptor finds it where reading ended
  return got.num_bytes;
}

// The last piece and the one before it: the kernel keeps pages that a range cuts, and large ones may be megabytes.
void input_file::drop_pages_behind() noexcept {
  const off_t end = ::lseek(fd_, 0, SEEK_CUR);
  const off_t first = std::max<off_t>(end - static_cast<off_t>(2 * piece_bytes), 0);
  if (end > first) ::posix_fadvise(fd_, first, end - first, POSIX_FADV_DONTNEED);
}

void input_file::require_unchanged() {
  if (!size_bytes_) return;
  std::array<std::byte, 1> beyond{};
  const transfer_result more = read_fully(fd_, beyond);
  struct stat now {};
  if (more.error_code != 0) throw_io(name_, "read", more.error_code);
  if (::fstat(fd_, &now) != 0) throw_io(name_, "read", errno);
  if (bytes_read_ == *size_bytes_ && more.num_bytes == 0 && is_unchanged(status_, now)) {
    return;
  }
  throw_changed(now);
}

void input_file::seek(std::uint64_t offset) {
  if (::lseek(fd_, static_cast<off_t>(offset), SEEK_SET) < 0) throw_io(name_, "read", errno);
}

void input_file::require_same_status() const {
  struct stat now {};
  if (::fstat(fd_, &now) != 0) throw_io(name_, "read", errno);
  if (!is_unchanged(status_, now)) throw_changed(now);
}

void input_file::throw_changed(const struct stat& now) const {
  throw bad_input(fmt::format("{}: input changed while it was read ({} bytes at first, {} now)", name_, status_.st_size,
                              now.st_size));
}

bool is_same_file(const std::string& a, const std::string& b) {
  struct stat first {};
  struct stat second {};
  return ::stat(a.c_str(), &first) == 0 && ::stat(b.c_str(), &second) == 0 && first.st_dev == second.st_dev &&
         first.st_ino == second.st_ino;
}

}  // namespace spansort::files
