// SPDX-License-Identifier: Apache-2.0
// A call on a thread of its own, beside those of the thread that waits for it: MPI is for one thread, which exchanges
// while another reads, sorts or writes.
#pragma once

#include <exception>
#include <functional>
#include <system_error>
#include <thread>
#include <utility>

namespace spansort::mpi {

class background_call {
 public:
  /// Begins f(); the call before has been waited for. Where the system refuses a thread, the calling one does it.
  void start(std::function<void()> f) {
    auto run = [this, f = std::move(f)] {
      try {
        f();
      } catch (...) {
        failure_ = std::current_exception();
      }
    };
    try {
      thread_ = std::jthread(run);
    } catch (const std::system_error&) {
      run();
    }
  }
  /// Returns when the call has, if there is one.
  void join() {
    if (thread_.joinable()) thread_.join();
  }
  /// Returns when the call has, and throws what the call threw.
  void wait() {
    join();
    if (failure_ != nullptr) std::rethrow_exception(std::exchange(failure_, nullptr));
  }

  /// The objects that the call uses live at least as long as this.
  class joined_scope {
   public:
    explicit joined_scope(background_call& call) : call_(call) {}
    ~joined_scope() { call_.join(); }
    joined_scope(const joined_scope&) = delete;
    joined_scope& operator=(const joined_scope&) = delete;

   private:
    background_call& call_;
  };

 private:
  std::exception_ptr failure_;
  std::jthread thread_;  ///< ends before the failure goes
};

}  // namespace spansort::mpi
