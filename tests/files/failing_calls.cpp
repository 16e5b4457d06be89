// SPDX-License-Identifier: Apache-2.0
#include "files/failing_calls.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>

namespace spansort::test {
namespace {

struct failing_call {
  file_call which = file_call::none;
  unsigned num_allowed = 0;
  int error = 0;
  bool is_lasting = false;
  bool has_failed = false;
};
thread_local failing_call failing;

bool fails(file_call which) noexcept {
  if (failing.which != which) return false;
  if (failing.num_allowed != 0) {
    --failing.num_allowed;
    return false;
  }
  if (!failing.is_lasting) failing.which = file_call::none;
  failing.has_failed = true;
  errno = failing.error;
  return true;
}

/// Makes the call behind this program's own of that name.
template <class Result, class... Arguments>
Result real(const char* name, Arguments... arguments) noexcept {
  return reinterpret_cast<Result (*)(Arguments...)>(::dlsym(RTLD_NEXT, name))(arguments...);
}

}  // namespace

failing_call_scope::failing_call_scope(file_call which, int error, unsigned nth, bool is_lasting) noexcept {
  failing = {.which = which, .num_allowed = nth - 1, .error = error, .is_lasting = is_lasting};
}

failing_call_scope::~failing_call_scope() { failing.which = file_call::none; }

bool failing_call_scope::has_failed() noexcept { return failing.has_failed; }

}  // namespace spansort::test

extern "C" {

int fstat(int fd, struct stat* status) noexcept {
  using namespace spansort::test;
  return fails(file_call::fstat) ? -1 : real<int>("fstat", fd, status);
}
int lstat(const char* path, struct stat* status) noexcept {
  using namespace spansort::test;
  return fails(file_call::lstat) ? -1 : real<int>("lstat", path, status);
}
off_t lseek(int fd, off_t offset, int from) noexcept {
  using namespace spansort::test;
  return fails(file_call::lseek) ? -1 : real<off_t>("lseek", fd, offset, from);
}
int fchmod(int fd, mode_t mode) noexcept {
  using namespace spansort::test;
  return fails(file_call::fchmod) ? -1 : real<int>("fchmod", fd, mode);
}
int fchown(int fd, uid_t user, gid_t group) noexcept {
  using namespace spansort::test;
  return fails(file_call::fchown) ? -1 : real<int>("fchown", fd, user, group);
}
int fsetxattr(int fd, const char* name, const void* value, size_t size, int flags) noexcept {
  using namespace spansort::test;
  return fails(file_call::fsetxattr) ? -1 : real<int>("fsetxattr", fd, name, value, size, flags);
}
int fremovexattr(int fd, const char* name) noexcept {
  using namespace spansort::test;
  return fails(file_call::fremovexattr) ? -1 : real<int>("fremovexattr", fd, name);
}
ssize_t lgetxattr(const char* path, const char* name, void* value, size_t size) noexcept {
  using namespace spansort::test;
  return fails(file_call::lgetxattr) ? -1 : real<ssize_t>("lgetxattr", path, name, value, size);
}
ssize_t llistxattr(const char* path, char* list, size_t size) noexcept {
  using namespace spansort::test;
  return fails(file_call::llistxattr) ? -1 : real<ssize_t>("llistxattr", path, list, size);
}
int fstatfs(int fd, struct statfs* system) noexcept {
  using namespace spansort::test;
  return fails(file_call::fstatfs) ? -1 : real<int>("fstatfs", fd, system);
}
int statvfs(const char* path, struct statvfs* system) noexcept {
  using namespace spansort::test;
  return fails(file_call::statvfs) ? -1 : real<int>("statvfs", path, system);
}
int fallocate(int fd, int mode, off_t offset, off_t count) {
  using namespace spansort::test;
  return fails(file_call::fallocate) ? -1 : real<int>("fallocate", fd, mode, offset, count);
}
int sync_file_range(int fd, off_t offset, off_t count, unsigned flags) {
  using namespace spansort::test;
  return fails(file_call::sync_file_range) ? -1 : real<int>("sync_file_range", fd, offset, count, flags);
}
int fsync(int fd) {
  using namespace spansort::test;
  return fails(file_call::fsync) ? -1 : real<int>("fsync", fd);
}
int linkat(int from_folder, const char* from, int to_folder, const char* to, int flags) noexcept {
  using namespace spansort::test;
  return fails(file_call::linkat) ? -1 : real<int>("linkat", from_folder, from, to_folder, to, flags);
}
int renameat(int from_folder, const char* from, int to_folder, const char* to) noexcept {
  using namespace spansort::test;
  return fails(file_call::renameat) ? -1 : real<int>("renameat", from_folder, from, to_folder, to);
}
int openat(int folder, const char* path, int flags, ...) {
  using namespace spansort::test;
  std::va_list rest;
  va_start(rest, flags);
  const bool has_mode = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
  const mode_t mode = has_mode ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return fails(file_call::openat) ? -1 : real<int>("openat", folder, path, flags, mode);
}
int access(const char* path, int rights) noexcept {
  using namespace spansort::test;
  return fails(file_call::access) ? -1 : real<int>("access", path, rights);
}
int close(int fd) {
  using namespace spansort::test;
  const int status = real<int>("close", fd);  // the file is closed all the same
  return fails(file_call::close) ? -1 : status;
}
int pthread_create(pthread_t* thread, const pthread_attr_t* how, void* (*begin)(void*), void* argument) noexcept {
  using namespace spansort::test;
  return fails(file_call::pthread_create) ? errno : real<int>("pthread_create", thread, how, begin, argument);
}

}  // extern "C"
