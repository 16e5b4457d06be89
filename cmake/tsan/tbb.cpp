// SPDX-License-Identifier: Apache-2.0
// Tells the thread sanitizer what oneTBB orders. Linked into programs of the preset tsan only.
//
// The distribution's libtbb is not instrumented, so the sanitizer sees neither that a task starts after it was spawned
// nor that a wait ends after the task did, and reports a race in every parallel loop. The linker sends the calls into
// libtbb through the functions below (wrap.txt lists them); each states the order that the call guarantees and passes
// it on. Nothing else is hidden: two tasks that touch the same data are still reported.
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include <cstddef>
#include <cstdint>
#include <new>

#include <sanitizer/tsan_interface.h>

namespace {

using namespace tbb::detail;  // NOLINT(google-build-using-namespace): the file is about its names

std::byte thrown;   ///< orders a task that throws before the wait that rethrows
std::byte no_pool;  ///< stands for libtbb's pool of small objects, whose reuse of memory the sanitizer cannot follow

/// Runs another task, after acquiring what was released when that one was handed to libtbb.
class ordered_task final : public d1::task {
 public:
  explicit ordered_task(d1::task& inner) : inner_(inner) {}

  d1::task* execute(d1::execution_data& data) override {
    return run([&] { return inner_.execute(data); });
  }
  d1::task* cancel(d1::execution_data& data) override {
    return run([&] { return inner_.cancel(data); });
  }

 private:
  /// libtbb cancels a task that has thrown, so the wrapper goes only when its task has returned.
  template <typename Step>
  d1::task* run(const Step& step) {
    __tsan_acquire(this);
    try {
      d1::task* next = step();
      delete this;
      return next;
    } catch (...) {
      __tsan_release(&thrown);
      throw;
    }
  }

  d1::task& inner_;
};

/// All that the caller has done happens before the task.
d1::task& ordered(d1::task& task) {
  auto* wrapper = new ordered_task(task);
  __tsan_release(wrapper);
  return *wrapper;
}

/// The delegate of task_arena::execute may run on another thread while the caller waits.
class ordered_delegate final : public d1::delegate_base {
 public:
  explicit ordered_delegate(d1::delegate_base& inner) : inner_(inner) {}

  bool operator()() const override {
    __tsan_acquire(const_cast<ordered_delegate*>(this));
    const bool result = inner_();
    __tsan_release(const_cast<ordered_delegate*>(this));
    return result;
  }

 private:
  d1::delegate_base& inner_;
};

/// Everything that the finished tasks have done happens before the wait's return, or before the exception it throws.
class acquire_at_end {
 public:
  explicit acquire_at_end(d1::wait_context& waited) : waited_(waited) {}
  acquire_at_end(const acquire_at_end&) = delete;
  acquire_at_end& operator=(const acquire_at_end&) = delete;
  ~acquire_at_end() {
    __tsan_acquire(&thrown);
    waited_.reserve(0);  // an atomic access to the count that finished tasks have decremented
  }

 private:
  d1::wait_context& waited_;
};

}  // namespace

// The linker's names: __wrap_X is called instead of X, __real_X is X.
// NOLINTBEGIN(bugprone-reserved-identifier)
extern "C" {

// void spawn(task&, task_group_context&)
void __real__ZN3tbb6detail2r15spawnERNS0_2d14taskERNS2_18task_group_contextE(d1::task&, d1::task_group_context&);
void __wrap__ZN3tbb6detail2r15spawnERNS0_2d14taskERNS2_18task_group_contextE(d1::task& task,
                                                                             d1::task_group_context& context) {
  __real__ZN3tbb6detail2r15spawnERNS0_2d14taskERNS2_18task_group_contextE(ordered(task), context);
}

// void spawn(task&, task_group_context&, slot_id)
void __real__ZN3tbb6detail2r15spawnERNS0_2d14taskERNS2_18task_group_contextEt(d1::task&, d1::task_group_context&,
                                                                              d1::slot_id);
void __wrap__ZN3tbb6detail2r15spawnERNS0_2d14taskERNS2_18task_group_contextEt(d1::task& task,
                                                                              d1::task_group_context& context,
                                                                              d1::slot_id slot) {
  __real__ZN3tbb6detail2r15spawnERNS0_2d14taskERNS2_18task_group_contextEt(ordered(task), context, slot);
}

// void enqueue(task&, task_group_context&, task_arena_base*)
void __real__ZN3tbb6detail2r17enqueueERNS0_2d14taskERNS2_18task_group_contextEPNS2_15task_arena_baseE(
    d1::task&, d1::task_group_context&, d1::task_arena_base*);
void __wrap__ZN3tbb6detail2r17enqueueERNS0_2d14taskERNS2_18task_group_contextEPNS2_15task_arena_baseE(
    d1::task& task, d1::task_group_context& context, d1::task_arena_base* arena) {
  __real__ZN3tbb6detail2r17enqueueERNS0_2d14taskERNS2_18task_group_contextEPNS2_15task_arena_baseE(ordered(task),
                                                                                                   context, arena);
}

// void enqueue(task&, task_arena_base*)
void __real__ZN3tbb6detail2r17enqueueERNS0_2d14taskEPNS2_15task_arena_baseE(d1::task&, d1::task_arena_base*);
void __wrap__ZN3tbb6detail2r17enqueueERNS0_2d14taskEPNS2_15task_arena_baseE(d1::task& task,
                                                                            d1::task_arena_base* arena) {
  __real__ZN3tbb6detail2r17enqueueERNS0_2d14taskEPNS2_15task_arena_baseE(ordered(task), arena);
}

// void execute(task_arena_base&, delegate_base&)
void __real__ZN3tbb6detail2r17executeERNS0_2d115task_arena_baseERNS2_13delegate_baseE(d1::task_arena_base&,
                                                                                      d1::delegate_base&);
void __wrap__ZN3tbb6detail2r17executeERNS0_2d115task_arena_baseERNS2_13delegate_baseE(d1::task_arena_base& arena,
                                                                                      d1::delegate_base& delegate) {
  ordered_delegate wrapper(delegate);
  __tsan_release(&wrapper);
  __real__ZN3tbb6detail2r17executeERNS0_2d115task_arena_baseERNS2_13delegate_baseE(arena, wrapper);
  __tsan_acquire(&wrapper);
}

// void execute_and_wait(task&, task_group_context&, wait_context&, task_group_context&)
void __real__ZN3tbb6detail2r116execute_and_waitERNS0_2d14taskERNS2_18task_group_contextERNS2_12wait_contextES6_(
    d1::task&, d1::task_group_context&, d1::wait_context&, d1::task_group_context&);
void __wrap__ZN3tbb6detail2r116execute_and_waitERNS0_2d14taskERNS2_18task_group_contextERNS2_12wait_contextES6_(
    d1::task& task, d1::task_group_context& task_context, d1::wait_context& waited, d1::task_group_context& context) {
  const acquire_at_end guard(waited);
  __real__ZN3tbb6detail2r116execute_and_waitERNS0_2d14taskERNS2_18task_group_contextERNS2_12wait_contextES6_(
      task, task_context, waited, context);
}

// void wait(wait_context&, task_group_context&)
void __real__ZN3tbb6detail2r14waitERNS0_2d112wait_contextERNS2_18task_group_contextE(d1::wait_context&,
                                                                                     d1::task_group_context&);
void __wrap__ZN3tbb6detail2r14waitERNS0_2d112wait_contextERNS2_18task_group_contextE(d1::wait_context& waited,
                                                                                     d1::task_group_context& context) {
  const acquire_at_end guard(waited);
  __real__ZN3tbb6detail2r14waitERNS0_2d112wait_contextERNS2_18task_group_contextE(waited, context);
}

// void* allocate(small_object_pool*&, size_t[, const execution_data&]): from operator new, which the sanitizer follows.
void* __wrap__ZN3tbb6detail2r18allocateERPNS0_2d117small_object_poolEm(d1::small_object_pool*& pool,
                                                                       std::size_t size_bytes) {
  pool = reinterpret_cast<d1::small_object_pool*>(&no_pool);
  return ::operator new(size_bytes, std::align_val_t{d1::task_alignment});
}
void* __wrap__ZN3tbb6detail2r18allocateERPNS0_2d117small_object_poolEmRKNS2_14execution_dataE(
    d1::small_object_pool*& pool, std::size_t size_bytes, const d1::execution_data&) {
  return __wrap__ZN3tbb6detail2r18allocateERPNS0_2d117small_object_poolEm(pool, size_bytes);
}

// void deallocate(small_object_pool&, void*, size_t[, const execution_data&])
void __wrap__ZN3tbb6detail2r110deallocateERNS0_2d117small_object_poolEPvm(d1::small_object_pool&, void* object,
                                                                          std::size_t) {
  ::operator delete(object, std::align_val_t{d1::task_alignment});
}
void __wrap__ZN3tbb6detail2r110deallocateERNS0_2d117small_object_poolEPvmRKNS2_14execution_dataE(
    d1::small_object_pool& pool, void* object, std::size_t size_bytes, const d1::execution_data&) {
  __wrap__ZN3tbb6detail2r110deallocateERNS0_2d117small_object_poolEPvm(pool, object, size_bytes);
}

}  // extern "C"
// NOLINTEND(bugprone-reserved-identifier)
