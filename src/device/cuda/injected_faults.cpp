// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/injected_faults.hpp"

#include <utility>

#include "device/cuda/cuda_error.hpp"

namespace spansort::device::cuda {
namespace {

/// A plain pointer, so that threads that are about to end may still make calls.
constinit thread_local injected_faults* in_force = nullptr;

}  // namespace

cudaError_t injected_faults::count_call() noexcept {
  std::uint64_t left = calls_to_fault_.load(std::memory_order_relaxed);
  while (left != 0 && !calls_to_fault_.compare_exchange_weak(left, left - 1, std::memory_order_relaxed)) {
  }
  return left == 1 ? fail_with_ : cudaSuccess;
}

std::shared_ptr<injected_faults> current_faults() noexcept {
  return in_force == nullptr ? nullptr : in_force->shared_from_this();
}

cudaError_t fault_for_this_call() noexcept { return in_force == nullptr ? cudaSuccess : in_force->count_call(); }

fault_scope::fault_scope(std::shared_ptr<injected_faults> faults) noexcept
    : own_(std::move(faults)), before_(std::exchange(in_force, own_.get())) {}

fault_scope::~fault_scope() { in_force = before_; }

}  // namespace spansort::device::cuda
