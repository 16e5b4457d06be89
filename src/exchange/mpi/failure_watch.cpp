// SPDX-License-Identifier: Apache-2.0
#include "exchange/mpi/failure_watch.hpp"

#include <fmt/format.h>

#include <atomic>
#include <mutex>

#include "spansort/errors.hpp"

namespace spansort::exchange {

std::string node_failure::message() const {
  return fmt::format("node rank {} failed{}: {}", node_rank, phase.empty() ? "" : fmt::format(" in phase '{}'", phase),
                     reason);
}

struct failure_watch::shared {
  mutable std::mutex mutex;
  std::atomic<bool> failed = false;
  unsigned node_rank = 0;
  std::string phase;
  std::optional<node_failure> failure;
};

failure_watch::failure_watch(unsigned node_rank, unsigned, watch_options) : shared_(std::make_unique<shared>()) {
  shared_->node_rank = node_rank;
}
failure_watch::~failure_watch() = default;

std::optional<node_failure> failure_watch::failure() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->failure;
}

void failure_watch::check() const {
  if (!shared_->failed.load(std::memory_order_acquire)) return;
  const std::optional<node_failure> known = failure();
  throw cluster_failure(known->message(), static_cast<int>(known->node_rank), known->phase);
}

void failure_watch::set_phase(std::string_view phase) {
  const std::lock_guard lock(shared_->mutex);
  shared_->phase = phase;
}

std::string failure_watch::phase() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->phase;
}

void failure_watch::announce_failure(std::string_view) noexcept {}
void failure_watch::leave() noexcept {}

}  // namespace spansort::exchange
