// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "device/device.hpp"

namespace spansort::algorithms {

/// A position in the sort's device list, with what it keeps from call to call. Members are destroyed last to first:
/// the queue's thread ends before the memory goes, and both before the device.
struct rank {
  std::unique_ptr<device::device> device;
  std::vector<device::buffer> slots;
  std::vector<device::buffer>
      host_slots;                       ///< host memory beside the caller's arrays, for copies to and from the device
  std::uint64_t scratch_bytes = 0;      ///< what the device holds for its queues
  std::unique_ptr<device::event> idle;  ///< what the host polls; apart, for an awaited event is not recorded again
  std::unique_ptr<device::event> idle_copies;          ///< the same of the second queue
  std::unique_ptr<device::event> idle_copies_out;      ///< of the third
  std::unique_ptr<device::event> idle_exchanges;       ///< and of the fourth
  std::vector<std::unique_ptr<device::event>> events;  ///< taken in turn, free again when all queues are empty
  std::size_t num_events_taken = 0;
  std::unique_ptr<device::queue> queue;  ///< the rank's work
  /// Copies in and out beside it, and nothing else; null where the caller's memory is shared.
  std::unique_ptr<device::queue> copies;
  /// Copies out while `copies` brings others in; null until a driver asks for it (run_context::open_copies_out()).
  std::unique_ptr<device::queue> copies_out;
  /// Exchanges beside the work; null until a driver asks for it (run_context::open_exchanges()).
  std::unique_ptr<device::queue> exchanges;

  /// Calls f(queue) for the one to four queues.
  template <class F>
  void for_each_queue(F&& f) {
    f(*queue);
    for_each_queue_of_copies(f);
    if (exchanges != nullptr) f(*exchanges);
  }
  /// Calls f(queue) for those of copies in and out alone.
  template <class F>
  void for_each_queue_of_copies(F&& f) {
    if (copies != nullptr) f(*copies);
    if (copies_out != nullptr) f(*copies_out);
  }
  /// Marks what is_idle() waits for.
  void record_idle() {
    if (copies_out != nullptr) copies_out->record(*idle_copies_out);
    if (exchanges != nullptr) exchanges->record(*idle_exchanges);
    if (copies != nullptr) copies->record(*idle_copies);
    queue->record(*idle);
  }
  [[nodiscard]] bool is_idle() const {
    return idle->is_complete() && (copies == nullptr || idle_copies->is_complete()) &&
           (copies_out == nullptr || idle_copies_out->is_complete()) &&
           (exchanges == nullptr || idle_exchanges->is_complete());
  }
  [[nodiscard]] device::event& take_event() {
    if (num_events_taken == events.size()) events.push_back(device->make_event());
    return *events[num_events_taken++];
  }
};

/// A rank on `device`, with nothing held yet.
[[nodiscard]] inline rank make_rank(std::unique_ptr<device::device> device) {
  rank r;
  r.device = std::move(device);
  r.idle = r.device->make_event();
  r.queue = r.device->make_queue();
  if (!r.device->shares_host_memory()) {
    r.idle_copies = r.device->make_event();
    r.copies = r.device->make_queue();
  }
  return r;
}

}  // namespace spansort::algorithms
