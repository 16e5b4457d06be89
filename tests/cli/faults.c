// SPDX-License-Identifier: Apache-2.0
// Loaded before the C library by tests of the command: makes file calls fail or fall short as SPANSORT_FAULT says.
//   no-tmpfile            open(O_TMPFILE) is not supported, as on NFS
//   short                 read and write move one to seven bytes, and every third call is interrupted
//   CALL:N:ERRNO          the N-th call of write, fsync, close (of a regular file), linkat, renameat fails
// Several are separated by commas.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

static int is_asked(const char* word) {
  const char* faults = getenv("SPANSORT_FAULT");
  return faults != NULL && strstr(faults, word) != NULL;
}

// Whether this call, the (*count)-th of its name, is to fail; sets errno.
static int fails(const char* call, int* count) {
  const char* faults = getenv("SPANSORT_FAULT");
  const char* at = faults == NULL ? NULL : strstr(faults, call);
  ++*count;
  if (at == NULL || at[strlen(call)] != ':') return 0;
  char* end = NULL;
  if (strtol(at + strlen(call) + 1, &end, 10) != *count) return 0;
  errno = atoi(end + 1);
  return 1;
}

static size_t shortened(size_t count, int* interrupted) {
  static unsigned calls = 0;
  *interrupted = ++calls % 3 == 0;
  return count > 7 ? 1 + calls % 7 : count;
}

static int is_regular(int fd) {
  struct stat status;
  return fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
}

int openat(int directory, const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  if ((flags & O_TMPFILE) == O_TMPFILE && is_asked("no-tmpfile")) {
    errno = EOPNOTSUPP;
    return -1;
  }
  int (*real)(int, const char*, int, ...) = (int (*)(int, const char*, int, ...))dlsym(RTLD_NEXT, "openat");
  return real(directory, path, flags, mode);
}

ssize_t read(int fd, void* into, size_t count) {
  ssize_t (*real)(int, void*, size_t) = (ssize_t(*)(int, void*, size_t))dlsym(RTLD_NEXT, "read");
  int interrupted = 0;
  if (is_asked("short")) count = shortened(count, &interrupted);
  if (!interrupted) return real(fd, into, count);
  errno = EINTR;
  return -1;
}

ssize_t write(int fd, const void* from, size_t count) {
  static int calls = 0;
  ssize_t (*real)(int, const void*, size_t) = (ssize_t(*)(int, const void*, size_t))dlsym(RTLD_NEXT, "write");
  int interrupted = 0;
  if (is_regular(fd) && fails("write", &calls)) return -1;
  if (is_asked("short")) count = shortened(count, &interrupted);
  if (!interrupted) return real(fd, from, count);
  errno = EINTR;
  return -1;
}

int fsync(int fd) {
  static int calls = 0;
  int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
  return fails("fsync", &calls) ? -1 : real(fd);
}

int close(int fd) {
  static int calls = 0;
  int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "close");
  // Only files being written count: those that others close come and go.
  const int is_counted = is_regular(fd) && (fcntl(fd, F_GETFL) & O_ACCMODE) == O_WRONLY;
  const int is_failing = is_counted && fails("close", &calls);
  const int code = errno;
  const int status = real(fd);
  if (!is_failing) return status;
  errno = code;
  return -1;
}

int linkat(int from_directory, const char* from, int to_directory, const char* to, int flags) {
  static int calls = 0;
  int (*real)(int, const char*, int, const char*, int) =
      (int (*)(int, const char*, int, const char*, int))dlsym(RTLD_NEXT, "linkat");
  return fails("linkat", &calls) ? -1 : real(from_directory, from, to_directory, to, flags);
}

int renameat(int from_directory, const char* from, int to_directory, const char* to) {
  static int calls = 0;
  int (*real)(int, const char*, int, const char*) =
      (int (*)(int, const char*, int, const char*))dlsym(RTLD_NEXT, "renameat");
  return fails("renameat", &calls) ? -1 : real(from_directory, from, to_directory, to);
}
