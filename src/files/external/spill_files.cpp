// SPDX-License-Identifier: Apache-2.0
#include "files/external/spill_files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <limits>
#include <map>
#include <utility>

// The hash is compiled into this unit; nothing is linked.
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/math.hpp"
#include "files/external/spill_plan.hpp"
#include "spansort/errors.hpp"

namespace spansort::external {
namespace {

constexpr int num_name_attempts = 100;
/// Smaller transfers cost a trip to the disk each when they go past the page cache.
constexpr std::uint64_t least_direct_bytes = std::uint64_t{64} << 10;
constexpr const char* advice = "free some space, or name other folders with -T";
constexpr const char* output_advice = "free some space, or choose another place with -o";

struct free_space {
  std::uint64_t bytes = std::numeric_limits<std::uint64_t>::max();  ///< all ones: not known
  dev_t device = 0;
};

free_space free_space_in(const std::string& folder) {
  free_space found;
  struct stat status {};
  struct statvfs system {};
  if (::stat(folder.c_str(), &status) == 0) found.device = status.st_dev;
  if (::statvfs(folder.c_str(), &system) != 0 || system.f_blocks == 0) return found;
  found.bytes = (::geteuid() == 0 ? system.f_bfree : system.f_bavail) * system.f_frsize;
  return found;
}

/// Throws where the folder cannot be written: before hours of work rather than in the middle of it.
void require_writable_folder(const std::string& folder) {
  struct stat status {};
  int code = ::stat(folder.c_str(), &status) == 0 ? 0 : errno;
  if (code == 0 && !S_ISDIR(status.st_mode)) code = ENOTDIR;
  if (code == 0 && ::faccessat(AT_FDCWD, folder.c_str(), W_OK | X_OK, AT_EACCESS) != 0) code = errno;
  if (code == 0) return;
  throw io_error(fmt::format("cannot make a temporary file in '{}': {}; name another folder with -T", folder,
                             files::error_text(code)),
                 code);
}

/// A file system without nameless files: one with a name not to be guessed, which is taken away at once.
files::file_descriptor open_named_and_unlink(const std::string& folder) {
  files::file_descriptor file;
  for (int attempt = 0; attempt < num_name_attempts && !file.is_open(); ++attempt) {
    std::uint64_t random = 0;
    if (::getrandom(&random, sizeof random, 0) != sizeof random) continue;
    const std::string path = fmt::format("{}/.spansort-spill-{:016x}", folder, random);
    file = files::open_file(path.c_str(), O_CREAT | O_EXCL | O_RDWR | O_NOFOLLOW, 0600);
    if (!file.is_open() && errno != EEXIST) return file;
    if (file.is_open() && ::unlink(path.c_str()) != 0) return {};  // it would be there for all to see, and for ever
  }
  return file;
}

files::file_descriptor open_spill_file(const std::string& folder, bool wants_direct_access) {
  files::file_descriptor file = files::open_file(folder.c_str(), O_TMPFILE | O_EXCL | O_RDWR, 0600);
  if (!file.is_open() && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL))
    file = open_named_and_unlink(folder);
  if (!file.is_open() || !wants_direct_access) return file;
  // Direct access is asked for afterwards: not every file system that refuses it says so when a file is opened.
  const int flags = ::fcntl(file.get(), F_GETFL);
  if (flags >= 0) static_cast<void>(::fcntl(file.get(), F_SETFL, flags | O_DIRECT));
  return file;
}

/// Calls call(bytes done) until `size_bytes` are done, or one does nothing, or fails. A file system that answers EAGAIN
/// for a while is asked again after a moment: regular files are always ready for poll().
template <class Call>
files::transfer_result transfer_all(std::size_t size_bytes, Call call) {
  constexpr timespec moment{0, 1'000'000};
  files::transfer_result done;
  while (done.num_bytes < size_bytes) {
    const ssize_t count = call(done.num_bytes);
    if (count > 0) {
      done.num_bytes += static_cast<std::size_t>(count);
    } else if (count == 0) {
      break;
    } else if (errno == EAGAIN) {
      ::nanosleep(&moment, nullptr);
    } else if (errno != EINTR) {
      done.error_code = errno;
      break;
    }
  }
  return done;
}

/// Direct access takes aligned addresses and sizes alone; after a short count the rest may be neither.
void leave_direct_access(int fd) {
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags >= 0) static_cast<void>(::fcntl(fd, F_SETFL, flags & ~O_DIRECT));
}

bool is_aligned(std::size_t bytes) { return bytes % direct_alignment_bytes == 0; }

}  // namespace

std::uint64_t spill_checksum(std::span<const std::byte> bytes) noexcept {
  return XXH3_64bits(bytes.data(), bytes.size());
}

files::file_descriptor open_temporary_file(const std::string& folder) {
  require_writable_folder(folder);
  files::file_descriptor file = open_spill_file(folder, false);
  if (file.is_open()) return file;
  const int code = errno;
  throw io_error(fmt::format("cannot make a temporary file in '{}': {}; name another folder with -T", folder,
                             files::error_text(code)),
                 code);
}

std::vector<std::string> default_temporary_folders() {
  const char* const named = std::getenv("TMPDIR");
  return {named != nullptr && *named != '\0' ? named : "/tmp"};
}

void require_spill_space(const std::vector<std::string>& folders, std::uint64_t spilled_bytes,
                         const std::string& output_folder, std::uint64_t output_bytes) {
  struct demand {
    std::uint64_t bytes = 0;
    std::uint64_t free_bytes = 0;
    std::string folder;
    std::string what;  ///< that the bytes are for
  };
  std::map<dev_t, demand> demands;
  const auto add = [&](const std::string& folder, std::uint64_t bytes, const char* what) {
    const free_space found = free_space_in(folder);
    demand& d = demands[found.device];
    d.bytes += bytes;
    d.free_bytes = found.bytes;
    if (d.folder.empty()) d.folder = folder;
    if (d.what != what) d.what = d.what.empty() ? what : fmt::format("{} and {}", d.what, what);
  };
  for (const std::string& folder : folders) {
    require_writable_folder(folder);
    add(folder, base::ceil_div(spilled_bytes, std::uint64_t{folders.size()}), "temporary files");
  }
  if (!output_folder.empty()) add(output_folder, output_bytes, "the output");
  for (const auto& [device, d] : demands) {
    if (d.bytes <= d.free_bytes) continue;
    const bool is_output_alone = d.what == "the output";
    throw io_error(fmt::format("not enough space in {}: {} bytes are needed for {}, {} are free: {}", d.folder, d.bytes,
                               d.what, d.free_bytes, is_output_alone ? output_advice : advice),
                   ENOSPC);
  }
}

spill_files::spill_files(std::vector<std::string> folders, std::uint64_t transfer_bytes, std::uint64_t expected_bytes)
    : expected_bytes_(expected_bytes), folders_(std::move(folders)) {
  for (const std::string& folder : folders_) {
    files_.push_back(open_spill_file(folder, transfer_bytes >= least_direct_bytes));
    if (!files_.back().is_open()) fail("make a temporary file in", files_.size() - 1, errno);
  }
}

void spill_files::fail(const char* action, std::size_t file, int code) const {
  const std::string& folder = folders_[file];
  // Nobody knows what a stream will need.
  const std::string needed =
      expected_bytes_ == 0 ? "" : fmt::format("{} bytes are needed for temporary files", expected_bytes_);
  std::string rest;
  if (code == ENOSPC || code == EDQUOT) {
    const free_space found = free_space_in(folder);
    rest = needed.empty() ? fmt::format("; {} bytes are free there: {}", found.bytes, advice)
                          : fmt::format("; {}, {} are free there: {}", needed, found.bytes, advice);
  } else if (code == EFBIG) {
    rest = fmt::format("; {}{}raise the limit on file size (ulimit -f)", needed, needed.empty() ? "" : ": ");
  } else if (code == ENOENT || code == EACCES || code == EPERM || code == EROFS || code == ENOTDIR || code == ELOOP) {
    rest = "; name another folder with -T";
  }
  throw io_error(fmt::format("cannot {} {}: {}{}", action, folder, files::error_text(code), rest), code);
}

void spill_files::write(const spill_place& at, std::span<const std::byte> bytes) {
  const int fd = files_[at.file].get();
  const files::transfer_result result = transfer_all(bytes.size(), [&](std::size_t done) {
    if (!is_aligned(done)) leave_direct_access(fd);
    return ::pwrite(fd, bytes.data() + done, bytes.size() - done, static_cast<off_t>(at.offset + done));
  });
  if (result.error_code != 0) fail("write a temporary file in", at.file, result.error_code);
  if (result.num_bytes < bytes.size()) fail("write a temporary file in", at.file, EIO);
  bytes_written_ += bytes.size();
}

std::uint64_t spill_files::read(const spill_place& at, std::span<std::byte> bytes) {
  const int fd = files_[at.file].get();
  const files::transfer_result result = transfer_all(bytes.size(), [&](std::size_t done) {
    if (!is_aligned(done)) leave_direct_access(fd);
    return ::pread(fd, bytes.data() + done, bytes.size() - done, static_cast<off_t>(at.offset + done));
  });
  if (result.error_code != 0) fail("read a temporary file in", at.file, result.error_code);
  bytes_read_ += bytes.size();
  return result.num_bytes;
}

void spill_files::refuse_corrupt(std::uint64_t block, std::size_t file) const {
  throw internal_error(
      fmt::format("spill block {} of the temporary file in {} is damaged: it does not read as it was written; the "
                  "output was withheld; check that disk and the machine's memory",
                  block, folders_[file]));
}

void spill_files::allocate(const spill_place& at, std::uint64_t num_bytes) noexcept {
  // A refusal costs speed; whether there is space is told when it is written.
  static_cast<void>(
      ::fallocate(files_[at.file].get(), 0, static_cast<off_t>(at.offset), static_cast<off_t>(num_bytes)));
}

void spill_files::discard(const spill_place& at, std::uint64_t num_bytes) noexcept {
  // A refusal costs space for a while and nothing else.
  static_cast<void>(::fallocate(files_[at.file].get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                                static_cast<off_t>(at.offset), static_cast<off_t>(num_bytes)));
}

}  // namespace spansort::external
