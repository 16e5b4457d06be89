// SPDX-License-Identifier: Apache-2.0
#include "files/io/atomic_file.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <optional>
#include <utility>

#include "base/signals_held.hpp"
#include "spansort/errors.hpp"

namespace spansort::files {
namespace {

constexpr int max_name_attempts = 100;
constexpr std::size_t write_bytes = std::size_t{8} << 20;

// Hidden, short (any output name has room beside it) and not to be guessed.
std::string random_name() {
  constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyz234567";
  std::array<unsigned char, 16> random{};
  while (::getrandom(random.data(), random.size(), 0) < 0 && errno == EINTR) {
  }
  std::string name = ".spansort-";
  for (const unsigned char byte : random) name += letters[byte % letters.size()];
  return name;
}

std::string path_of_descriptor(int fd) { return fmt::format("/proc/self/fd/{}", fd); }

}  // namespace

atomic_file::atomic_file(output_target target, std::uint64_t size_bytes, temporary_callback on_temporary, naming when)
    : target_(std::move(target)), size_bytes_(size_bytes), on_temporary_(std::move(on_temporary)) {
  if (target_.is_stream) {
    open_stream();
    return;
  }
  directory_ = open_file(target_.directory.c_str(), O_RDONLY | O_DIRECTORY);
  // A directory that may be written but not listed can still be used, only not synced.
  if (!directory_.is_open()) directory_ = open_file(target_.directory.c_str(), O_PATH | O_DIRECTORY);
  if (!directory_.is_open()) fail("write", errno);
  if (when == naming::from_the_start || !open_nameless()) open_named();
}

std::string atomic_file::temporary_path() const {
  return temporary_name_.empty() ? std::string() : target_.directory + "/" + temporary_name_;
}

atomic_file::~atomic_file() { remove_temporary(); }

void atomic_file::open_stream() {
  if (target_.path.empty()) {
    file_ = file_descriptor(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3));
  } else {
    file_ = open_file(target_.path.c_str(), O_WRONLY | O_NOCTTY);
  }
  if (!file_.is_open()) fail("write", errno);
}

bool atomic_file::open_nameless() {
  // A name is given through /proc later; better to know now whether it is there.
  if (::access("/proc/self/fd", X_OK) != 0) return false;
  file_ = file_descriptor(::openat(directory_.get(), ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666));
  return file_.is_open();
}

void atomic_file::open_named() {
  for (int attempt = 0; attempt < max_name_attempts; ++attempt) {
    std::string name = random_name();
    const base::signals_held hold;
    announce(target_.directory + "/" + name);
    file_ = file_descriptor(
        ::openat(directory_.get(), name.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (file_.is_open()) {
      temporary_name_ = std::move(name);
      return;
    }
    if (errno != EEXIST && errno != EINTR) break;
  }
  const int code = errno;
  announce("");
  fail("write", code);
}

void atomic_file::write(std::span<const std::byte> bytes, const transfer_progress& progress) {
  for (std::size_t at = 0; at < bytes.size(); at += write_bytes) {
    const transfer_result done = write_fully(file_.get(), bytes.subspan(at, std::min(write_bytes, bytes.size() - at)));
    bytes_written_ += done.num_bytes;
    if (done.error_code != 0) fail("write", done.error_code);
    start_writeback();
    if (progress) progress(bytes_written_, size_bytes_);
  }
}

bool atomic_file::take_room() noexcept {
  const std::uint64_t begin = std::max(bytes_taken_, bytes_written_);
  if (target_.is_stream || begin >= size_bytes_) return false;
  struct statfs system {};
  if (::fstatfs(file_.get(), &system) != 0 || system.f_type != TMPFS_MAGIC) return false;
  const std::uint64_t count = std::min<std::uint64_t>(4 * write_bytes, size_bytes_ - begin);
  if (::fallocate(file_.get(), 0, static_cast<off_t>(begin), static_cast<off_t>(count)) != 0) return false;
  bytes_taken_ = begin + count;
  return bytes_taken_ < size_bytes_;
}

void atomic_file::start_writeback() {
  if (target_.is_stream) return;
  if (const int code = behind_.advance(file_.get(), bytes_written_); code != 0) fail("write", code);
}

void atomic_file::write_at(std::uint64_t offset, std::span<const std::byte> bytes) {
  if (target_.is_stream) {
    throw invalid_argument(fmt::format("{}: a stream cannot be written out of order", target_.name));
  }
  const transfer_result done = write_fully_at(file_.get(), offset, bytes);
  if (done.error_code != 0) fail("write", done.error_code);
}

void atomic_file::commit() {
  flush();
  {
    const base::signals_held hold;  // a matter of microseconds, in which the file has a name that is not the target's
    give_name();
    take_place();
  }
  sync_directory();
}

void atomic_file::commit_together(atomic_file& first, atomic_file& second) {
  first.flush();
  second.flush();
  {
    const base::signals_held hold;
    first.give_name();
    second.give_name();
    first.take_place();
    try {
      second.take_place();
    } catch (const io_error& failure) {
      throw io_error(fmt::format("{}; {} is new already, so that the two do not belong together", failure.what(),
                                 first.target_.name),
                     failure.code());
    }
  }
  first.sync_directory();
  second.sync_directory();
}

void atomic_file::flush() {
  if (target_.is_stream) return;
  keep_access();
  // Not repeated: after a failed fsync the kernel may have dropped the data and a second call would report success.
  if (is_synced_ && ::fsync(file_.get()) != 0) fail("sync", errno);
}

// The file that is replaced may have come or changed since the work began. A nameless one was made with the permissions
// of any new file.
void atomic_file::keep_access() {
  const std::string folder = path_of_descriptor(directory_.get());
  const std::string path = ::access(folder.c_str(), F_OK) == 0 ? folder + "/" + target_.file_name : target_.path;
  std::optional<file_access> replaced = find_replaced(target_, path);
  if (!replaced) replaced = target_.replaced;
  if (replaced) {
    give_access(file_.get(), *replaced, target_.name);
  } else if (!temporary_name_.empty() && ::fchmod(file_.get(), new_file_mode(target_.directory)) != 0) {
    fail("set permissions of", errno);
  }
}

void atomic_file::give_name() {
  for (int attempt = 0; temporary_name_.empty() && !target_.is_stream; ++attempt) {
    std::string name = random_name();
    announce(target_.directory + "/" + name);
    if (::linkat(AT_FDCWD, path_of_descriptor(file_.get()).c_str(), directory_.get(), name.c_str(),
                 AT_SYMLINK_FOLLOW) == 0) {
      // A copy of the name could fail to be allocated, and would leave the file behind.
      temporary_name_ = std::move(name);
    } else if (errno != EEXIST || attempt == max_name_attempts) {
      const int code = errno;
      announce("");
      fail("write", code);
    }
  }
  if (const int code = file_.close(); code != 0) fail("write", code);
}

void atomic_file::take_place() {
  if (target_.is_stream) return;
  if (::renameat(directory_.get(), temporary_name_.c_str(), directory_.get(), target_.file_name.c_str()) != 0) {
    fail("replace", errno);
  }
  temporary_name_.clear();
  announce("");
}

void atomic_file::sync_directory() {
  if (target_.is_stream || !is_synced_) return;
  if (::fsync(directory_.get()) == 0 || errno == EBADF || errno == EINVAL) return;
  const int code = errno;
  throw io_error(fmt::format("{} is written and in place, but its directory cannot be synced: {}; it may be lost if "
                             "the machine fails now",
                             target_.name, error_text(code)),
                 code);
}

// Before the name exists, so that no signal can come between.
void atomic_file::announce(const std::string& path) const {
  if (on_temporary_) on_temporary_(path);
}

void atomic_file::remove_temporary() noexcept {
  if (temporary_name_.empty()) return;
  ::unlinkat(directory_.get(), temporary_name_.c_str(), 0);
  temporary_name_.clear();
  try {
    announce("");
  } catch (...) {  // a callback must not turn a failure into a crash
  }
}

void atomic_file::fail(const char* action, int code) const {
  throw io_error(fmt::format("cannot {} {}: {}{}", action, target_.name, error_text(code),
                             write_failure_advice(target_, code, size_bytes_)),
                 code);
}

}  // namespace spansort::files
