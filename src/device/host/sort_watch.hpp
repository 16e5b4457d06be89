// SPDX-License-Identifier: Apache-2.0
// Those who watch a local sort while it runs: the monitor, which counts progress and may ask it to stop, and the flow
// that takes finished records away.
#pragma once

#include <cstdint>

#include "base/record_flow.hpp"
#include "device/device.hpp"
#include "device/host/stop_requested.hpp"

namespace spansort::device::host {

class sort_watch {
 public:
  /// Either pointer may be null.
  sort_watch(monitor* watch, base::record_flow* flow) : monitor_(watch), flow_(flow) {}

  void advance(std::uint64_t num_keys) const {
    if (monitor_ != nullptr) monitor_->work_done.fetch_add(num_keys, std::memory_order_relaxed);
  }
  [[nodiscard]] bool stopping() const {
    return monitor_ != nullptr && monitor_->stop_requested.load(std::memory_order_relaxed);
  }
  void stop_if_asked() const {
    if (stopping()) throw stop_requested{};
  }

  [[nodiscard]] bool has_flow() const { return flow_ != nullptr; }
  void hand_over(std::uint64_t begin, std::uint64_t num_keys) const {
    if (flow_ != nullptr) flow_->finished(begin, num_keys);
  }
  /// Returns the same watch for records that are not in their places yet.
  [[nodiscard]] sort_watch without_flow() const { return {monitor_, nullptr}; }

 private:
  monitor* monitor_;
  base::record_flow* flow_;
};

}  // namespace spansort::device::host
