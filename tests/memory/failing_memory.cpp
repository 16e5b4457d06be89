// SPDX-License-Identifier: Apache-2.0
#include "memory/failing_memory.hpp"

#include <dlfcn.h>
#include <sys/prctl.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <string_view>
#include <thread>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__GLIBC__)
#define SPANSORT_COUNTS_MEMORY 0
#else
#define SPANSORT_COUNTS_MEMORY 1
#endif

namespace spansort::test {
namespace {

std::atomic<std::int64_t> num_live{0};
std::atomic<std::int64_t> num_allowed{-1};  ///< allocations before the first that fails; negative: none fails
std::atomic<bool> lasts{false};
std::atomic<failing_allocations> which_fail{failing_allocations::all};
std::atomic<std::thread::id> thread_of_scope{};
std::atomic<bool> is_any_failed{false};

#if SPANSORT_COUNTS_MEMORY
thread_local bool is_exempt = false;

/// While the scope lives no allocation of the thread fails.
class exempt_scope {
 public:
  exempt_scope() noexcept { is_exempt = true; }
  ~exempt_scope() { is_exempt = false; }
  exempt_scope(const exempt_scope&) = delete;
  exempt_scope& operator=(const exempt_scope&) = delete;
};

/// A GPU's driver has threads of its own, and is of no more use to the process once it has run out of memory.
bool is_of_a_driver() noexcept {
  std::array<char, 16> name{};
  ::prctl(PR_GET_NAME, name.data());
  return std::string_view(name.data()).starts_with("cuda");
}

/// Counts an allocation where one is to fail; `is_new`: it is made by operator new.
bool fails(bool is_new = false) noexcept {
  if (num_allowed.load(std::memory_order_relaxed) < 0 || is_exempt) return false;
  const failing_allocations which = which_fail.load(std::memory_order_relaxed);
  if (is_new != (which != failing_allocations::all) || is_of_a_driver()) return false;
  if (which == failing_allocations::of_new_elsewhere && thread_of_scope.load() == std::this_thread::get_id()) {
    return false;
  }
  if (num_allowed.fetch_sub(1) > 0) return false;
  num_allowed.store(lasts.load() ? 0 : -1);
  is_any_failed.store(true);
  errno = ENOMEM;
  return true;
}

void* counted(void* made) noexcept {
  if (made != nullptr) num_live.fetch_add(1, std::memory_order_relaxed);
  return made;
}
#endif

}  // namespace

bool can_fail_memory() noexcept { return SPANSORT_COUNTS_MEMORY != 0; }

std::int64_t live_allocations() noexcept { return num_live.load(); }

failing_memory_scope::failing_memory_scope(std::uint64_t nth, bool is_lasting, failing_allocations which) noexcept {
  lasts.store(is_lasting);
  which_fail.store(which);
  thread_of_scope.store(std::this_thread::get_id());
  is_any_failed.store(false);
  num_allowed.store(static_cast<std::int64_t>(nth) - 1);
}

failing_memory_scope::~failing_memory_scope() { num_allowed.store(-1); }

bool failing_memory_scope::has_failed() noexcept { return is_any_failed.load(); }

}  // namespace spansort::test

#if SPANSORT_COUNTS_MEMORY
extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* old, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);
void __libc_free(void* memory);

void* malloc(std::size_t size) {
  return spansort::test::fails() ? nullptr : spansort::test::counted(__libc_malloc(size));
}
void* calloc(std::size_t count, std::size_t size) {
  return spansort::test::fails() ? nullptr : spansort::test::counted(__libc_calloc(count, size));
}
void* realloc(void* old, std::size_t size) {
  if (spansort::test::fails()) return nullptr;
  void* const made = __libc_realloc(old, size);
  if (old == nullptr) return spansort::test::counted(made);
  if (size == 0) spansort::test::num_live.fetch_sub(1, std::memory_order_relaxed);
  return made;
}
void* memalign(std::size_t alignment, std::size_t size) {
  return spansort::test::fails() ? nullptr : spansort::test::counted(__libc_memalign(alignment, size));
}
void* aligned_alloc(std::size_t alignment, std::size_t size) { return memalign(alignment, size); }
int posix_memalign(void** result, std::size_t alignment, std::size_t size) {
  void* const made = memalign(alignment, size);
  if (made == nullptr) return ENOMEM;
  *result = made;
  return 0;
}
void free(void* memory) {
  if (memory == nullptr) return;
  spansort::test::num_live.fetch_sub(1, std::memory_order_relaxed);
  __libc_free(memory);
}
// The C library ends the process where it cannot remember what is to be destroyed with a thread.
int __cxa_thread_atexit_impl(void (*destroy)(void*), void* object, void* library) {
  using function = int (*)(void (*)(void*), void*, void*);
  static const auto real = reinterpret_cast<function>(::dlsym(RTLD_NEXT, "__cxa_thread_atexit_impl"));
  const spansort::test::exempt_scope scope;
  return real(destroy, object, library);
}
}  // extern "C"

void* operator new(std::size_t size) {
  void* const made = spansort::test::fails(true) ? nullptr : malloc(size == 0 ? 1 : size);
  return made == nullptr ? throw std::bad_alloc() : made;
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  void* const made =
      spansort::test::fails(true) ? nullptr : memalign(static_cast<std::size_t>(alignment), size == 0 ? 1 : size);
  return made == nullptr ? throw std::bad_alloc() : made;
}
void operator delete(void* memory) noexcept { free(memory); }
void operator delete(void* memory, std::size_t) noexcept { free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { free(memory); }
#endif
