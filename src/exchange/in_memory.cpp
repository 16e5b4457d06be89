// SPDX-License-Identifier: Apache-2.0
#include "exchange/in_memory.hpp"

namespace spansort::exchange {

std::uint64_t pull_in_memory(const device::record_shape& shape, std::span<const plan::transfer> transfers,
                             std::span<const endpoint> endpoints) {
  std::uint64_t exchanged_bytes = 0;
  for (const plan::transfer& t : transfers) {
    const device::records from = device::advance(shape, endpoints[t.source_rank].source, t.source_offset);
    const endpoint& receiver = endpoints[t.destination_rank];
    const device::records to = device::advance(shape, receiver.destination, t.destination_offset);
    receiver.queue->copy(to.keys, from.keys, t.count * shape.codec.width_bytes(), "exchange");
    if (shape.value_bytes != 0) {
      receiver.queue->copy(to.values, from.values, t.count * shape.value_bytes, "exchange");
    }
    if (t.source_rank != t.destination_rank) exchanged_bytes += t.count * shape.bytes();
  }
  return exchanged_bytes;
}

}  // namespace spansort::exchange
