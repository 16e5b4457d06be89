// SPDX-License-Identifier: Apache-2.0
#include "transport/direct_exchange.hpp"

#include <fmt/format.h>

#include <utility>

#include "transport/transfer_order.hpp"

namespace spansort::transport {

direct_exchange::direct_exchange(std::vector<const device::device*> devices, unsigned first_rank, std::string refused)
    : devices_(std::move(devices)), first_rank_(first_rank), refused_(std::move(refused)) {}

std::string direct_exchange::why_not(unsigned source, unsigned receiver) const {
  for (const unsigned rank : {source, receiver}) {
    if (rank < first_rank_ || rank - first_rank_ >= devices_.size()) {
      return fmt::format("rank {} is another process's", rank);
    }
  }
  if (source == receiver) return {};
  if (!refused_.empty()) return refused_;
  const device::device& from = *devices_[source - first_rank_];
  const device::device& to = *devices_[receiver - first_rank_];
  if (from.reaches(to)) return {};
  return fmt::format("{} does not reach the memory of {}: {}", from.name(), to.name(), from.why_unreachable(to));
}

exchanged direct_exchange::execute(const device::record_shape& shape, std::span<const plan::transfer> transfers,
                                   std::span<const endpoint> endpoints) {
  const unsigned key_bytes = shape.codec.width_bytes();
  exchanged sum;
  for (const endpoint& sender : endpoints) {
    std::vector<device::copy_piece> keys;
    std::vector<device::copy_piece> values;
    for (const plan::transfer& t : in_turns(transfers, sender, endpoints)) {
      const endpoint& receiver = endpoints[t.destination_rank - first_rank_];
      const device::records from = device::advance(shape, sender.source, t.source_offset);
      const device::records to = device::advance(shape, receiver.destination, t.destination_offset);
      if (&receiver != &sender) sum.bytes += t.count * shape.bytes();
      keys.push_back({to.keys, from.keys, t.count * key_bytes});
      if (shape.value_bytes != 0) values.push_back({to.values, from.values, t.count * shape.value_bytes});
    }
    // Keys and values of one width are one list, so that the values need not wait for the last of the keys.
    if (shape.value_bytes == key_bytes) keys.insert(keys.end(), values.begin(), values.end());
    sender.queue->copy_pieces(std::move(keys), key_bytes, "exchange");
    if (shape.value_bytes != key_bytes && shape.value_bytes != 0) {
      sender.queue->copy_pieces(std::move(values), shape.value_bytes, "exchange");
    }
  }
  return sum;
}

}  // namespace spansort::transport
