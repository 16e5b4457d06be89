// SPDX-License-Identifier: Apache-2.0
#include "device/host/workers.hpp"

#include <oneapi/tbb/task_scheduler_observer.h>

#include "base/assert.hpp"

namespace spansort::device::host {

/// Binds threads to the device's node while they work in its arena.
class workers::pin_to_node : public tbb::task_scheduler_observer {
 public:
  pin_to_node(tbb::task_arena& arena, int numa_node) : tbb::task_scheduler_observer(arena), numa_node_(numa_node) {
    observe(true);
  }
  ~pin_to_node() override { observe(false); }
  void on_scheduler_entry(bool) override { bind_thread_to_node(numa_node_); }
  void on_scheduler_exit(bool) override { unbind_thread(); }

 private:
  int numa_node_;
};

workers::workers(unsigned num_threads, int numa_node)
    : num_threads_(num_threads), arena_(static_cast<int>(num_threads), 1), scratch_(num_threads) {
  if (numa_node >= 0) pin_ = std::make_unique<pin_to_node>(arena_, numa_node);
}

workers::workers(unsigned num_threads, parked_threads& helpers)
    : num_threads_(num_threads), arena_(static_cast<int>(num_threads), 1), helpers_(&helpers), scratch_(num_threads) {}

workers::~workers() = default;

void workers::use_threads(unsigned num_threads) {
  SPANSORT_ASSERT(helpers_ != nullptr && num_threads >= 1 && num_threads <= most_threads());
  num_threads_ = num_threads;
}

void workers::prepare_scratch(unsigned num_slots) {
  SPANSORT_ASSERT(num_slots >= 1 && num_slots <= num_threads_);
  for (; num_ready_ < num_slots; ++num_ready_) scratch_[num_ready_] = std::make_unique<worker_scratch>();
  if (helpers_ != nullptr) helpers_->start(num_slots - 1);
}

void workers::release_scratch() noexcept {
  num_ready_ = 0;
  for (std::unique_ptr<worker_scratch>& s : scratch_) s.reset();
  spare_blocks_.reset();
  spare_bytes_ = 0;
}

std::byte* workers::spare_blocks(std::uint64_t size_bytes) {
  const std::uint64_t wanted = num_threads_ * size_bytes;
  if (wanted > spare_bytes_) {
    spare_blocks_.reset();
    spare_bytes_ = 0;
    spare_blocks_ = make_aligned<std::byte>(wanted);
    spare_bytes_ = wanted;
  }
  return spare_blocks_.get();
}

}  // namespace spansort::device::host
