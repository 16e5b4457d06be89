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

/// The function behind this program's own of that name.
template <class Function>
Function* real(const char* name) noexcept {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
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
  static const auto next = real<int(int, struct stat*)>("fstat");
  return fails(file_call::fstat) ? -1 : next(fd, status);
}
int lstat(const char* path, struct stat* status) noexcept {
  using namespace spansort::test;
  static const auto next = real<int(const char*, struct stat*)>("lstat");
  return fails(file_call::lstat) ? -1 : next(path, status);
}
off_t lseek(int fd, off_t offset, int from) noexcept {
  using namespace spansort::test;
  static const auto next = real<off_t(int, off_t, int)>("lseek");
  return fails(file_call::lseek) ? -1 : next(fd, offset, from);
}
int fchmod(int fd, mode_t mode) noexcept {
  using namespace spansort::test;
  static const auto next = real<int(int, mode_t)>("fchmod");
  return fails(file_call::fchmod) ? -1 : next(fd, mode);
}
int fchown(int fd, uid_t user, gid_t group) noexcept {
  using namespace spansort::test;
  static const auto next = real<int(int, uid_t, gid_t)>("fchown");
  return fails(file_call::fchown) ? -1 : next(fd, user, group);
}
int fsetxattr(int fd, const char* name, const void* value, size_t size, int flags) noexcept {
  using namespace spansort::test;
  static const auto next = real<int(int, const char*, const void*, size_t, int)>("fsetxattr");
  return fails(file_call::fsetxattr) ? -1 : next(fd, name, value, size, flags);
}
int fremovexattr(int fd, const char* name) noexcept {
  using namespace spansort::test;
  static const auto next = real<int(int, const char*)>("fremovexattr");
  return fails(file_call::fremovexattr) ? -1 : next(fd, name);
}
ssize_t lgetxattr(const char* path, const char* name, void* value, size_t size) noexcept {
  using namespace spansort::test;
  static const auto next = real<ssize_t(const char*, const char*, void*, size_t)>("lgetxattr");
  return fails(file_call::lgetxattr) ? -1 : next(path, name, value, size);
}
ssize_t llistxattr(const char* path, char* list, size_t size) noexcept {
  using namespace spansort::test;
  static const auto next = real<ssize_t(const char*, char*, size_t)>("llistxattr");
  return fails(file_call::llistxattr) ? -1 : next(path, list, size);
}
int fstatfs(int fd, struct statfs* system) noexcept {
  using namespace spansort::test;
  static const auto next = real<int(int, struct statfs*)>("fstatfs");
  return fails(file_call::fstatfs) ? -1 : next(fd, system);
}
int statvfs(const char* path, struct statvfs* system) noexcept {
  using namespace spansort::test;
  static const auto next = real<int(const char*, struct statvfs*)>("statvfs");
  return fails(file_call::statvfs) ? -1 : next(path, system);
}
int fallocate(int fd, int mode, off_t offset, off_t count) {
  using namespace spansort::test;
  static const auto next = real<int(int, int, off_t, off_t)>("fallocate");
  return fails(file_call::fallocate) ? -1 : next(fd, mode, offset, count);
}
int sync_file_range(int fd, off_t offset, off_t count, unsigned flags) {
  using namespace spansort::test;
  static const auto next = real<int(int, off_t, off_t, unsigned)>("sync_file_range");
  return fails(file_call::sync_file_range) ? -1 : next(fd, offset, count, flags);
}
int fsync(int fd) {
  using namespace spansort::test;
  static const auto next = real<int(int)>("fsync");
  return fails(file_call::fsync) ? -1 : next(fd);
}
int linkat(int from_folder, const char* from, int to_folder, const char* to, int flags) noexcept {
  using namespace spansort::test;
  static const auto next = real<int(int, const char*, int, const char*, int)>("linkat");
  return fails(file_call::linkat) ? -1 : next(from_folder, from, to_folder, to, flags);
}
int renameat(int from_folder, const char* from, int to_folder, const char* to) noexcept {
  using namespace spansort::test;
  static const auto next = real<int(int, const char*, int, const char*)>("renameat");
  return fails(file_call::renameat) ? -1 : next(from_folder, from, to_folder, to);
}
int openat(int folder, const char* path, int flags, ...) {
  using namespace spansort::test;
  std::va_list rest;
  va_start(rest, flags);
  const bool has_mode = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
  const mode_t mode = has_mode ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  static const auto next = real<int(int, const char*, int, ...)>("openat");
  return fails(file_call::openat) ? -1 : next(folder, path, flags, mode);
}
int access(const char* path, int rights) noexcept {
  using namespace spansort::test;
  static const auto next = real<int(const char*, int)>("access");
  return fails(file_call::access) ? -1 : next(path, rights);
}
int close(int fd) {
  using namespace spansort::test;
  static const auto next = real<int(int)>("close");
  const int status = next(fd);  // the file is closed all the same
  return fails(file_call::close) ? -1 : status;
}
int pthread_create(pthread_t* thread, const pthread_attr_t* how, void* (*begin)(void*), void* argument) noexcept {
  using namespace spansort::test;
  static const auto next = real<int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)>("pthread_create");
  return fails(file_call::pthread_create) ? errno : next(thread, how, begin, argument);
}

}  // extern "C"
