// SPDX-License-Identifier: Apache-2.0
#include "files/io/output_target.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <climits>

#include "files/io/file_descriptor.hpp"
#include "spansort/errors.hpp"

namespace spansort::files {
namespace {

constexpr int max_links = 40;  // as the kernel's

[[noreturn]] void throw_cannot_write(const std::string& name, const std::string& why, int code) {
  throw io_error(fmt::format("cannot write {}: {}", name, why), code);
}

std::string parent_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string last_name_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// Links of /proc/self/fd name an open file, not a place in a directory.
bool names_descriptor(const std::string& path) {
  return path.starts_with("/dev/fd/") || path.starts_with("/proc/self/fd/");
}

// In folders with a sticky bit (/tmp) everybody may make names, and only their owners rename and remove them. What
// somebody else has put there in the hope that it is written to is refused, also for the superuser, as the kernel does
// where fs.protected_regular and fs.protected_symlinks are set.
void require_own_in_sticky_folder(const std::string& name, const std::string& directory, unsigned owner) {
  struct stat folder {};
  const unsigned self = ::geteuid();
  if (owner == self || ::stat(directory.c_str(), &folder) != 0 || (folder.st_mode & S_ISVTX) == 0) return;
  const bool may_be_planted = (folder.st_mode & (S_IWGRP | S_IWOTH)) != 0 && owner != folder.st_uid;
  const bool may_replace = self == 0 || self == folder.st_uid;
  if (may_replace && !may_be_planted) return;
  throw_cannot_write(name,
                     fmt::format("it belongs to another user, in folder {}, where names belong to those who made them "
                                 "(its sticky bit is set); choose another name",
                                 directory),
                     EPERM);
}

// Follows links at the end of the path, so that a link stays and what it points to is replaced.
std::string follow_links(const std::string& name) {
  std::string path = name;
  for (int i = 0; i <= max_links; ++i) {
    std::array<char, PATH_MAX> target;
    const ssize_t length = ::readlink(path.c_str(), target.data(), target.size());
    if (length < 0) return path;
    struct stat link {};
    if (::lstat(path.c_str(), &link) == 0) require_own_in_sticky_folder(name, parent_of(path), link.st_uid);
    const std::string next(target.data(), static_cast<std::size_t>(length));
    path = next.starts_with('/') ? next : parent_of(path) + "/" + next;
  }
  throw_cannot_write(name, error_text(ELOOP), ELOOP);
}

struct free_space {
  std::uint64_t num_bytes = 0;
  bool is_known = false;
};

// The superuser may use what is reserved.
free_space free_space_in(const std::string& directory) {
  struct statvfs system {};
  if (::statvfs(directory.c_str(), &system) != 0 || system.f_blocks == 0) return {};
  const std::uint64_t blocks = ::geteuid() == 0 ? system.f_bfree : system.f_bavail;
  return {blocks * system.f_frsize, true};
}

void require_writable_directory(const output_target& target) {
  struct stat status {};
  if (::stat(target.directory.c_str(), &status) != 0) throw_cannot_write(target.name, error_text(errno), errno);
  if (!S_ISDIR(status.st_mode)) throw_cannot_write(target.name, error_text(ENOTDIR), ENOTDIR);
  if (::faccessat(AT_FDCWD, target.directory.c_str(), W_OK | X_OK, AT_EACCESS) == 0) return;
  const int code = errno;
  throw_cannot_write(target.name,
                     fmt::format("directory {}: {}; its new content is made there and then renamed", target.directory,
                                 error_text(code)),
                     code);
}

}  // namespace

output_target find_output(const std::string& path) {
  output_target target;
  target.name = target.path = path;
  if (path == "-" || path == "/dev/stdout") {
    target.is_stream = true;
    target.name = "standard output";
    target.path.clear();
    return target;
  }
  if (path.empty()) throw_cannot_write("''", error_text(ENOENT), ENOENT);
  struct stat status {};
  const bool exists = ::stat(path.c_str(), &status) == 0;
  if (!exists && errno != ENOENT) throw_cannot_write(path, error_text(errno), errno);
  if (exists && S_ISDIR(status.st_mode)) throw_cannot_write(path, error_text(EISDIR), EISDIR);
  if (exists && (!S_ISREG(status.st_mode) || names_descriptor(path))) {
    target.is_stream = true;
    return target;
  }
  // Renaming would get past a file's own permissions.
  if (exists && ::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) != 0) {
    throw_cannot_write(path, error_text(errno), errno);
  }
  target.path = follow_links(path);
  target.directory = parent_of(target.path);
  target.file_name = last_name_of(target.path);
  if (target.file_name.empty()) throw_cannot_write(path, error_text(EISDIR), EISDIR);
  require_writable_directory(target);
  target.replaced = find_replaced(target, target.path);
  return target;
}

std::optional<file_access> find_replaced(const output_target& target, const std::string& path) {
  std::optional<file_access> access = access_of(path, target.name);
  if (access) require_own_in_sticky_folder(target.name, target.directory, access->user);
  return access;
}

void require_free_space(const output_target& target, std::uint64_t needed_bytes) {
  if (target.is_stream) return;
  const free_space free = free_space_in(target.directory);
  if (!free.is_known || free.num_bytes >= needed_bytes) return;
  throw_cannot_write(target.name, error_text(ENOSPC) + write_failure_advice(target, ENOSPC, needed_bytes), ENOSPC);
}

std::string write_failure_advice(const output_target& target, int error_code, std::uint64_t needed_bytes) {
  const std::string needed = needed_bytes == 0 ? "" : fmt::format("{} bytes are needed", needed_bytes);
  if (error_code == EFBIG) {
    return fmt::format("; {}raise the limit on file size (ulimit -f)", needed.empty() ? "" : needed + ": ");
  }
  if (error_code != ENOSPC && error_code != EDQUOT) return "";
  constexpr const char* advice = "free some space or choose another place for it";
  if (target.is_stream) return fmt::format("; {}{}", needed.empty() ? "" : needed + ": ", advice);
  const free_space free = free_space_in(target.directory);
  const std::string num_free = free.is_known ? fmt::format("{}", free.num_bytes) : "an unknown number";
  return fmt::format("; {}{} are free in {}: {}", needed.empty() ? "" : needed + ", ", num_free, target.directory,
                     advice);
}

}  // namespace spansort::files
