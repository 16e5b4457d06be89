// SPDX-License-Identifier: Apache-2.0
// Loaded before the C library by tests of the command: makes file calls fail, fall short, lie or end the process, as
// SPANSORT_FAULT says. Several faults are separated by commas:
//   no-tmpfile, no-direct  open(O_TMPFILE) is not supported, as on NFS; nor is O_DIRECT
//   short                  reads and writes move few bytes, and every third call is interrupted
//   CALL:N:ERRNO           the N-th CALL fails; CALL:N+:ERRNO: all from the N-th on. Calls have the names of call_names
//   kill:N[:SIGNAL]        the process gets SIGKILL, or SIGNAL, before the N-th call of any name
//   stop:CALL:N            the process is stopped before the N-th CALL until somebody continues it
//   wait:CALL:N[:MS]       the N-th CALL takes so many milliseconds, 100 otherwise; N+: all from the N-th on
//   flip:N[:BYTE]          a bit of what the N-th pread returns is wrong; rot:N[:BYTE]: of what the N-th pwrite writes
//   lose:N                 the N-th pwrite writes nothing and reports success
// SPANSORT_FAULT_IN, paths separated by colons: only files below them count. Otherwise all regular files do.
// SPANSORT_FAULT_COUNT: a file that gets the number of calls of each name when the process exits or is ended from here
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

enum call {
  OPEN,
  READ,
  WRITE,
  PREAD,
  PWRITE,
  FTRUNCATE,
  FALLOCATE,
  FSYNC,
  FDATASYNC,
  SYNC_RANGE,
  LINK,
  RENAME,
  UNLINK,
  CLOSE,
  NUM_CALLS
};
static const char* const call_names[NUM_CALLS] = {"open",      "read",      "write",    "pread",     "pwrite",
                                                  "ftruncate", "fallocate", "fsync",    "fdatasync", "sync_file_range",
                                                  "linkat",    "renameat",  "unlinkat", "close"};
static atomic_int counts[NUM_CALLS];
static atomic_int total;

#define REAL(name, result, ...) result (*real)(__VA_ARGS__) = (result(*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)

// What follows `word` in the fault that begins with it; NULL where none does.
static const char* fault(const char* word) {
  const char* at = getenv("SPANSORT_FAULT");
  const size_t length = strlen(word);
  for (; at != NULL; at = strchr(at, ',')) {
    if (*at == ',') ++at;
    if (strncmp(at, word, length) == 0 && strchr(":,", at[length]) != NULL) return at + length;
  }
  return NULL;
}

// Whether the fault WORD:N, or WORD:N+, is for the `nth` call; *rest is what follows the number.
static int is_due(const char* word, int nth, const char** rest) {
  const char* at = fault(word);
  if (at == NULL || *at != ':') return 0;
  char* end = NULL;
  const long from = strtol(at + 1, &end, 10);
  const int is_lasting = *end == '+';
  *rest = end + is_lasting;
  return nth == from || (is_lasting && nth > from);
}

static long number_after(const char* rest, long otherwise) { return *rest == ':' ? atol(rest + 1) : otherwise; }

__attribute__((destructor)) static void write_counts(void) {
  const char* path = getenv("SPANSORT_FAULT_COUNT");
  FILE* file = path == NULL ? NULL : fopen(path, "w");
  if (file == NULL) return;
  for (int i = 0; i < NUM_CALLS; ++i) fprintf(file, "%s %d\n", call_names[i], counts[i]);
  fprintf(file, "total %d\n", total);
  fclose(file);
}

static void end_process(int signal_number, enum call which) {
  write_counts();
  const char* path = getenv("SPANSORT_FAULT_COUNT");
  FILE* file = path == NULL ? NULL : fopen(path, "a");
  if (file != NULL) fprintf(file, "%s killed\n", call_names[which]);
  if (file != NULL) fclose(file);
  kill(getpid(), signal_number);
  // Another thread may be the one that handles it.
  const struct timespec moment = {0, 50 * 1000 * 1000};
  nanosleep(&moment, NULL);
}

// Counts a call and does to it what is asked; whether it is to fail, with errno set. *nth is its number among them.
static int fails(enum call which, int* nth) {
  *nth = atomic_fetch_add(&counts[which], 1) + 1;
  const char* rest = NULL;
  if (is_due("kill", atomic_fetch_add(&total, 1) + 1, &rest)) end_process((int)number_after(rest, SIGKILL), which);
  char stop[32];
  snprintf(stop, sizeof stop, "stop:%s", call_names[which]);
  if (is_due(stop, *nth, &rest)) raise(SIGSTOP);
  char wait[32];
  snprintf(wait, sizeof wait, "wait:%s", call_names[which]);
  if (is_due(wait, *nth, &rest)) {
    const long ms = number_after(rest, 100);
    const struct timespec moment = {ms / 1000, ms % 1000 * 1000 * 1000};
    nanosleep(&moment, NULL);
  }
  if (!is_due(call_names[which], *nth, &rest)) return 0;
  errno = (int)number_after(rest, EIO);
  return 1;
}

static int is_below(const char* path) {
  const char* at = getenv("SPANSORT_FAULT_IN");
  for (; at != NULL && *at != '\0'; at += strspn(at, ":")) {
    const size_t length = strcspn(at, ":");
    if (strncmp(path, at, length) == 0 && strchr("/", path[length]) != NULL) return 1;
    at += length;
  }
  return 0;
}

static int is_limited(void) { return getenv("SPANSORT_FAULT_IN") != NULL; }

static int is_regular(int fd) {
  struct stat status;
  return fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
}

// The path of an open file; a nameless one has a made-up name in its folder.
static int path_of(int fd, char* path) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t length = readlink(link, path, PATH_MAX - 1);
  path[length < 0 ? 0 : length] = '\0';
  return length > 0;
}

static int counts_file(int fd) {
  const int code = errno;
  char path[PATH_MAX];
  const int result = is_limited() ? path_of(fd, path) && is_below(path) : is_regular(fd);
  errno = code;
  return result;
}

static int counts_name(int directory, const char* name) {
  const int code = errno;
  char path[2 * PATH_MAX] = "";
  if (name[0] != '/' && directory == AT_FDCWD && getcwd(path, PATH_MAX) == NULL) path[0] = '\0';
  if (name[0] != '/' && directory != AT_FDCWD) path_of(directory, path);
  const size_t length = strlen(path);
  snprintf(path + length, sizeof path - length, "%s%s", length == 0 ? "" : "/", name);
  errno = code;
  return !is_limited() || is_below(path);
}

// How many bytes a call moves that is cut short. Direct transfers keep to whole sectors, as those of the kernel do.
static size_t shortened(int fd, size_t count, int* is_interrupted) {
  static atomic_uint calls = 0;
  const unsigned nth = ++calls;
  *is_interrupted = nth % 3 == 0;
  const int flags = fcntl(fd, F_GETFL);
  const size_t unit = flags >= 0 && (flags & O_DIRECT) != 0 ? 512 : 1;
  const size_t wanted = unit * (1 + nth % 7);
  return count > wanted ? wanted : count;
}

// What is common to reads and writes; 1 where the call is not to be made, with errno set.
static int is_refused(enum call which, int fd, size_t* count, int* nth) {
  *nth = 0;
  if (counts_file(fd) && fails(which, nth)) return 1;
  int is_interrupted = 0;
  if (fault("short") != NULL) *count = shortened(fd, *count, &is_interrupted);
  if (is_interrupted) errno = EINTR;
  return is_interrupted;
}

static void flip(const char* rest, void* bytes, size_t count, int nth) {
  const size_t at = (size_t)number_after(rest, nth * 7919L) % count;
  ((unsigned char*)bytes)[at] ^= (unsigned char)(1 << nth % 8);
}

static int open_file(const char* name, int directory, const char* path, int flags, mode_t mode) {
  REAL(name, int, int, const char*, int, ...);
  int nth = 0;
  if (counts_name(directory, path) && fails(OPEN, &nth)) return -1;
  const int has_no_name = (flags & O_TMPFILE) == O_TMPFILE;
  if (has_no_name && fault("no-tmpfile") != NULL) return errno = EOPNOTSUPP, -1;
  if ((flags & O_DIRECT) != 0 && fault("no-direct") != NULL) return errno = EINVAL, -1;
  return real(directory, path, flags, mode);
}

static mode_t mode_of(int flags, va_list rest) {
  return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(rest, mode_t) : 0;
}

#define DEFINE_OPENS(open_name, openat_name)                         \
  int open_name(const char* path, int flags, ...) {                  \
    va_list rest;                                                    \
    va_start(rest, flags);                                           \
    const mode_t mode = mode_of(flags, rest);                        \
    va_end(rest);                                                    \
    return open_file(#openat_name, AT_FDCWD, path, flags, mode);     \
  }                                                                  \
  int openat_name(int directory, const char* path, int flags, ...) { \
    va_list rest;                                                    \
    va_start(rest, flags);                                           \
    const mode_t mode = mode_of(flags, rest);                        \
    va_end(rest);                                                    \
    return open_file(#openat_name, directory, path, flags, mode);    \
  }
DEFINE_OPENS(open, openat)
DEFINE_OPENS(open64, openat64)

// O_DIRECT may be asked for when a file is open already.
int fcntl(int fd, int command, ...) {
  REAL("fcntl", int, int, int, ...);
  va_list rest;
  va_start(rest, command);
  void* argument = va_arg(rest, void*);
  va_end(rest);
  const int asks_for_direct = command == F_SETFL && ((long)argument & O_DIRECT) != 0;
  if (asks_for_direct && fault("no-direct") != NULL) return errno = EINVAL, -1;
  return real(fd, command, argument);
}
int fcntl64(int fd, int command, ...) {
  va_list rest;
  va_start(rest, command);
  void* argument = va_arg(rest, void*);
  va_end(rest);
  return fcntl(fd, command, argument);
}

ssize_t read(int fd, void* into, size_t count) {
  REAL("read", ssize_t, int, void*, size_t);
  int nth = 0;
  return is_refused(READ, fd, &count, &nth) ? -1 : real(fd, into, count);
}

ssize_t write(int fd, const void* from, size_t count) {
  REAL("write", ssize_t, int, const void*, size_t);
  int nth = 0;
  return is_refused(WRITE, fd, &count, &nth) ? -1 : real(fd, from, count);
}

ssize_t pread(int fd, void* into, size_t count, off_t at) {
  REAL("pread", ssize_t, int, void*, size_t, off_t);
  int nth = 0;
  if (is_refused(PREAD, fd, &count, &nth)) return -1;
  const ssize_t done = real(fd, into, count, at);
  const char* rest = NULL;
  if (done > 0 && nth > 0 && is_due("flip", nth, &rest)) flip(rest, into, (size_t)done, nth);
  return done;
}
ssize_t pread64(int fd, void* into, size_t count, off_t at) { return pread(fd, into, count, at); }

static ssize_t write_rotten(const char* rest, int nth, int fd, const void* from, size_t count, off_t at) {
  REAL("pwrite", ssize_t, int, const void*, size_t, off_t);
  void* copy = NULL;
  if (count == 0 || posix_memalign(&copy, 4096, count) != 0) return real(fd, from, count, at);
  memcpy(copy, from, count);
  flip(rest, copy, count, nth);
  const ssize_t done = real(fd, copy, count, at);
  free(copy);
  return done;
}

ssize_t pwrite(int fd, const void* from, size_t count, off_t at) {
  REAL("pwrite", ssize_t, int, const void*, size_t, off_t);
  int nth = 0;
  if (is_refused(PWRITE, fd, &count, &nth)) return -1;
  const char* rest = NULL;
  if (nth > 0 && is_due("lose", nth, &rest)) return (ssize_t)count;
  if (nth > 0 && is_due("rot", nth, &rest)) return write_rotten(rest, nth, fd, from, count, at);
  return real(fd, from, count, at);
}
ssize_t pwrite64(int fd, const void* from, size_t count, off_t at) { return pwrite(fd, from, count, at); }

int ftruncate(int fd, off_t length) {
  REAL("ftruncate", int, int, off_t);
  int nth = 0;
  return counts_file(fd) && fails(FTRUNCATE, &nth) ? -1 : real(fd, length);
}
int ftruncate64(int fd, off_t length) { return ftruncate(fd, length); }

int fallocate(int fd, int mode, off_t at, off_t length) {
  REAL("fallocate", int, int, int, off_t, off_t);
  int nth = 0;
  return counts_file(fd) && fails(FALLOCATE, &nth) ? -1 : real(fd, mode, at, length);
}
int fallocate64(int fd, int mode, off_t at, off_t length) { return fallocate(fd, mode, at, length); }

// Returns the error's number.
int posix_fallocate(int fd, off_t at, off_t length) {
  REAL("posix_fallocate", int, int, off_t, off_t);
  int nth = 0;
  return counts_file(fd) && fails(FALLOCATE, &nth) ? errno : real(fd, at, length);
}
int posix_fallocate64(int fd, off_t at, off_t length) { return posix_fallocate(fd, at, length); }

// Folders are synced too.
static int counts_synced(int fd) { return !is_limited() || counts_file(fd); }

int fsync(int fd) {
  REAL("fsync", int, int);
  int nth = 0;
  return counts_synced(fd) && fails(FSYNC, &nth) ? -1 : real(fd);
}

int fdatasync(int fd) {
  REAL("fdatasync", int, int);
  int nth = 0;
  return counts_synced(fd) && fails(FDATASYNC, &nth) ? -1 : real(fd);
}

int sync_file_range(int fd, off_t at, off_t length, unsigned flags) {
  REAL("sync_file_range", int, int, off_t, off_t, unsigned);
  int nth = 0;
  return counts_file(fd) && fails(SYNC_RANGE, &nth) ? -1 : real(fd, at, length, flags);
}

int linkat(int from_directory, const char* from, int to_directory, const char* to, int flags) {
  REAL("linkat", int, int, const char*, int, const char*, int);
  int nth = 0;
  if (counts_name(to_directory, to) && fails(LINK, &nth)) return -1;
  return real(from_directory, from, to_directory, to, flags);
}

int renameat(int from_directory, const char* from, int to_directory, const char* to) {
  REAL("renameat", int, int, const char*, int, const char*);
  int nth = 0;
  if (counts_name(to_directory, to) && fails(RENAME, &nth)) return -1;
  return real(from_directory, from, to_directory, to);
}

int unlinkat(int directory, const char* name, int flags) {
  REAL("unlinkat", int, int, const char*, int);
  int nth = 0;
  return counts_name(directory, name) && fails(UNLINK, &nth) ? -1 : real(directory, name, flags);
}
int unlink(const char* name) { return unlinkat(AT_FDCWD, name, 0); }

// Only files being written count: those that others close come and go. The file is closed all the same.
int close(int fd) {
  REAL("close", int, int);
  int nth = 0;
  const int is_counted = counts_file(fd) && (fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDONLY;
  const int is_failing = is_counted && fails(CLOSE, &nth);
  const int code = errno;
  const int status = real(fd);
  if (is_failing) errno = code;
  return is_failing ? -1 : status;
}
