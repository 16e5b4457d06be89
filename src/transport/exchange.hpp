// SPDX-License-Identifier: Apache-2.0
// Section "exchange" of the pipeline: executes a plan's transfer list between ranks, on whatever connects them. An
// exchange decides nothing about keys and never looks at them. A transport is a class that implements this interface,
// in a file of its own; tests/support/exchange_conformance.hpp says whether it does.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "device/device.hpp"
#include "plan/transfers/transfer.hpp"

namespace spansort::transport {

/// One of this process's ranks in an exchange.
struct endpoint {
  unsigned rank = 0;               ///< its number among the ranks of all processes, as transfers name it
  device::queue* queue = nullptr;  ///< its copies run here
  device::records source;          ///< what transfers' source offsets count from
  device::records destination;     ///< what transfers' destination offsets count from
  /// Events of the rank's device that are free until its queue is empty.
  std::function<device::event&()> take_event;
};

/// This is what an exchange has moved, counted where it was sent from.
struct exchanged {
  std::uint64_t bytes = 0;         ///< that left a rank of this process for another rank
  std::uint64_t staged_bytes = 0;  ///< that this process sent or received through host memory beside its ranks' own

  exchanged& operator+=(const exchanged& other) noexcept {
    bytes += other.bytes;
    staged_bytes += other.staged_bytes;
    return *this;
  }
};

/// One way for records to get from rank to rank. Ranks are numbered through all processes.
class exchange {
 public:
  exchange() = default;
  virtual ~exchange() = default;
  exchange(const exchange&) = delete;
  exchange& operator=(const exchange&) = delete;

  /// Returns why rank `source` cannot send to rank `receiver` this way, half a sentence for the report; "" where it
  /// can.
  [[nodiscard]] virtual std::string why_not(unsigned source, unsigned receiver) const = 0;

  /// Takes the memory that such transfers need, if it is not held yet. Throws out_of_memory.
  virtual void connect(unsigned source, unsigned receiver) = 0;

  /// Executes every transfer that begins or ends at one of `endpoints`, all ranks of this process in their order; the
  /// others are those of other processes, and are passed over. Their ranks are connected. Every process calls this with
  /// the same transfers between its ranks and any other's, in the same order; it looks at the offsets of its own ranks
  /// only. Transfers of no records are allowed. No destination overlaps another one or a source.
  ///
  /// This only queues copies in one process. Before, the caller has made the queues wait until all sources are
  /// complete; it waits for all queues before it uses any destination. Between processes this blocks until what this
  /// process sends and receives has left and arrived; the sources are complete before, and it throws cluster_failure
  /// when another process fails. After an exception the contents of the destinations are undefined.
  virtual exchanged execute(const device::record_shape& shape, std::span<const plan::transfer> transfers,
                            std::span<const endpoint> endpoints) = 0;
};

}  // namespace spansort::transport
