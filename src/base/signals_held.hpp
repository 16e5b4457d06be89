// SPDX-License-Identifier: Apache-2.0
// This header has a scope in which signals of the calling thread wait. A thread that is started in it never takes any:
// they go to the caller's threads, as they did before there was another.
#pragma once

#include <pthread.h>

#include <csignal>

namespace spansort::base {

class signals_held {
 public:
  signals_held() noexcept {
    sigset_t all;
    sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, &before_);
  }
  ~signals_held() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  signals_held(const signals_held&) = delete;
  signals_held& operator=(const signals_held&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace spansort::base
