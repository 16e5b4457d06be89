// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/local_sort/mailbox.hpp"

#include <mutex>
#include <utility>
#include <vector>

namespace spansort::device::cuda {
namespace {

class mailbox_pool {
 public:
  /// Returns null where no pinned memory can be had.
  [[nodiscard]] pinned_memory take() {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) {
      idle_.reserve(num_made_ + 1);  // so that giving back cannot fail
      pinned_memory made = try_allocate_pinned_memory(most_mailbox_bytes);
      if (made != nullptr) ++num_made_;
      return made;
    }
    pinned_memory taken = std::move(idle_.back());
    idle_.pop_back();
    return taken;
  }
  void give_back(pinned_memory mailbox) noexcept {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(mailbox));
  }

 private:
  std::mutex mutex_;
  std::vector<pinned_memory> idle_;
  std::size_t num_made_ = 0;
};

mailbox_pool& mailboxes() {
  static auto* const pool = new mailbox_pool;  // outlives the runtime, which frees what it pinned
  return *pool;
}

}  // namespace

// The sort goes on without: its keys may have been turned already.
pinned_memory take_mailbox() noexcept {
  try {
    return mailboxes().take();
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

void give_back_mailbox(pinned_memory mailbox) noexcept { mailboxes().give_back(std::move(mailbox)); }

}  // namespace spansort::device::cuda
