// SPDX-License-Identifier: Apache-2.0
// Loaded before the C library into the ranks of strangers.py: tells where node rank 0 listens, lets the others come
// late, keeps what ranks say to each other there, and weighs node rank 0 from when it listens until it has closed that
// port. Calls that Open MPI makes itself are left alone.
//   SPANSORT_MEETING: the folder for `port`, `said.<number>`, and `met`: the bytes by which memory had grown at most,
//   and milliseconds
//   SPANSORT_MEETING_MS: by how much a rank is late; twice that, three times for the ranks behind it
//   SPANSORT_MEETING_GROWS: bytes by which node rank 0 is to grow there, for the test of the loop
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define REAL(name, result, ...) result (*real)(__VA_ARGS__) = (result(*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)

static atomic_int listener = -1;
static long begin_kib;
static long begin_ms;
static atomic_int num_connected;
static atomic_int num_said;

static int is_ours(const void* caller) {
  Dl_info info;
  return getenv("SPANSORT_MEETING") != NULL && dladdr(caller, &info) != 0 && info.dli_fname != NULL &&
         strstr(info.dli_fname, "spansort") != NULL;
}

static int is_internet(int fd) {
  struct sockaddr_storage at;
  socklen_t size = sizeof at;
  return getsockname(fd, (struct sockaddr*)&at, &size) == 0 && (at.ss_family == AF_INET || at.ss_family == AF_INET6);
}

static int port_of(int fd) {
  struct sockaddr_storage at;
  socklen_t size = sizeof at;
  if (getsockname(fd, (struct sockaddr*)&at, &size) != 0) return 0;
  if (at.ss_family == AF_INET6) return ntohs(((struct sockaddr_in6*)&at)->sin6_port);
  return ntohs(((struct sockaddr_in*)&at)->sin_port);
}

static long kib_of(const char* name) {
  char text[8192];
  const int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
  const ssize_t size = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
  REAL("close", int, int);
  if (fd >= 0) real(fd);
  text[size > 0 ? size : 0] = '\0';
  const char* const at = strstr(text, name);
  return at == NULL ? 0 : atol(at + strlen(name));
}

static long now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

// The file is whole for those who wait for it.
static void tell(const char* name, const void* bytes, size_t size) {
  char path[4096];
  char whole[4096];
  snprintf(path, sizeof path, "%s/.%s.%d", getenv("SPANSORT_MEETING"), name, (int)getpid());
  snprintf(whole, sizeof whole, "%s/%s", getenv("SPANSORT_MEETING"), name);
  const int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return;
  if (write(fd, bytes, size) == (ssize_t)size) rename(path, whole);
  REAL("close", int, int);
  real(fd);
}

int listen(int fd, int backlog) {
  REAL("listen", int, int, int);
  const int result = real(fd, backlog);
  if (result != 0 || !is_ours(__builtin_return_address(0))) return result;
  // The peak of memory counts from here.
  const int refs = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
  if (refs >= 0) {
    if (write(refs, "5", 1) != 1) perror("clear_refs");
    REAL("close", int, int);
    real(refs);
  }
  begin_kib = kib_of("VmRSS:");
  begin_ms = now_ms();
  listener = fd;
  char text[32];
  tell("port", text, (size_t)snprintf(text, sizeof text, "%d", port_of(fd)));
  const char* const grows = getenv("SPANSORT_MEETING_GROWS");
  if (grows != NULL) {
    static void* volatile kept;
    kept = malloc((size_t)atol(grows));
    if (kept != NULL) memset(kept, 1, (size_t)atol(grows));
  }
  return result;
}

int close(int fd) {
  REAL("close", int, int);
  if (fd < 0 || fd != listener || !is_ours(__builtin_return_address(0))) return real(fd);
  listener = -1;
  const long grown = kib_of("VmHWM:") - begin_kib;
  const long took_ms = now_ms() - begin_ms;
  const int result = real(fd);
  char text[64];
  tell("met", text, (size_t)snprintf(text, sizeof text, "%ld %ld", grown * 1024, took_ms));
  return result;
}

int connect(int fd, const struct sockaddr* to, socklen_t size) {
  REAL("connect", int, int, const struct sockaddr*, socklen_t);
  const int is_internet_address = to != NULL && (to->sa_family == AF_INET || to->sa_family == AF_INET6);
  if (is_internet_address && is_ours(__builtin_return_address(0)) && num_connected++ == 0) {
    const char* const rank = getenv("OMPI_COMM_WORLD_RANK");
    const char* const late = getenv("SPANSORT_MEETING_MS");
    usleep((useconds_t)(atol(late == NULL ? "0" : late) * atol(rank == NULL ? "1" : rank)) * 1000);
  }
  return real(fd, to, size);
}

ssize_t send(int fd, const void* bytes, size_t size, int flags) {
  REAL("send", ssize_t, int, const void*, size_t, int);
  const ssize_t result = real(fd, bytes, size, flags);
  // The first is a rank's greeting: what strangers would overhear.
  if (result > 0 && listener < 0 && is_ours(__builtin_return_address(0)) && is_internet(fd) && num_said++ == 0) {
    char name[32];
    snprintf(name, sizeof name, "said.%d", (int)getpid());
    tell(name, bytes, (size_t)result);
  }
  return result;
}
