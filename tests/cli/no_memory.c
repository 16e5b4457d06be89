// SPDX-License-Identifier: Apache-2.0
// Loaded before the C library by tests of the command: refuses memory as SPANSORT_NO_MEMORY says. N: the N-th
// allocation fails; N+: all from the N-th on. Those inside hwloc, which looks at the machine and bears no failure,
// do not count. SPANSORT_ALLOCATIONS: a file that gets their number when the process exits. SPANSORT_NO_TOPOLOGY: the
// process aborts where hwloc is asked.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

extern void* __libc_malloc(size_t);
extern void* __libc_calloc(size_t, size_t);
extern void* __libc_realloc(void*, size_t);
extern void* __libc_memalign(size_t, size_t);

// Before main() nothing can be caught.
static atomic_int is_in_main;
static atomic_long count;
static long from;
static int is_lasting;
static _Thread_local int is_exempt;

__attribute__((constructor)) static void begin(void) {
  const char* text = getenv("SPANSORT_NO_MEMORY");
  char* end = NULL;
  if (text != NULL) from = strtol(text, &end, 10);
  is_lasting = end != NULL && *end == '+';
}

// The command's main() begins with it.
typedef void (*handler)(int);
handler signal(int number, handler wanted) {
  handler (*real)(int, handler) = (handler(*)(int, handler))dlsym(RTLD_NEXT, "signal");
  const handler before = real(number, wanted);
  if (number == SIGXFSZ) is_in_main = 1;
  return before;
}

__attribute__((destructor)) static void tell(void) {
  const char* path = getenv("SPANSORT_ALLOCATIONS");
  const long number = atomic_load(&count);
  is_exempt = 1;
  FILE* file = path == NULL ? NULL : fopen(path, "w");
  if (file == NULL) return;
  fprintf(file, "%ld\n", number);
  fclose(file);
}

static int fails(void) {
  if (is_exempt || !is_in_main) return 0;
  const long nth = atomic_fetch_add(&count, 1) + 1;
  if (from == 0 || nth < from || (nth != from && !is_lasting)) return 0;
  errno = ENOMEM;
  return 1;
}

void* malloc(size_t size) { return fails() ? NULL : __libc_malloc(size); }
void* calloc(size_t number, size_t size) { return fails() ? NULL : __libc_calloc(number, size); }
void* realloc(void* old, size_t size) { return fails() ? NULL : __libc_realloc(old, size); }
void* memalign(size_t alignment, size_t size) { return fails() ? NULL : __libc_memalign(alignment, size); }
void* aligned_alloc(size_t alignment, size_t size) { return fails() ? NULL : __libc_memalign(alignment, size); }
int posix_memalign(void** result, size_t alignment, size_t size) {
  void* const made = fails() ? NULL : __libc_memalign(alignment, size);
  if (made == NULL) return ENOMEM;
  *result = made;
  return 0;
}

#define EXEMPT(name)                                              \
  int name(void* topology) {                                      \
    if (getenv("SPANSORT_NO_TOPOLOGY") != NULL) abort();          \
    int (*real)(void*) = (int (*)(void*))dlsym(RTLD_NEXT, #name); \
    ++is_exempt;                                                  \
    const int result = real(topology);                            \
    --is_exempt;                                                  \
    return result;                                                \
  }
EXEMPT(hwloc_topology_init)
EXEMPT(hwloc_topology_load)

// The C library ends the process where it cannot remember what is to be destroyed with a thread.
int __cxa_thread_atexit_impl(void (*destroy)(void*), void* object, void* library) {
  typedef int (*function)(void (*)(void*), void*, void*);
  const function real = (function)dlsym(RTLD_NEXT, "__cxa_thread_atexit_impl");
  ++is_exempt;
  const int result = real(destroy, object, library);
  --is_exempt;
  return result;
}
