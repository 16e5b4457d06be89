// SPDX-License-Identifier: Apache-2.0
#include "mpi/transport/part_list.hpp"

#include <algorithm>

namespace spansort::transport {
namespace {

template <class Part>
void add(std::vector<Part>& parts, std::vector<endpoint_range>& ranges, const Part& part, const endpoint& owner) {
  if (part.size_bytes == 0) return;
  parts.push_back(part);
  ranges.push_back({part.memory, part.memory + part.size_bytes, &owner});
}

std::byte* bytes_at(void* memory) { return static_cast<std::byte*>(memory); }

}  // namespace

unsigned rank_map::node_rank_of(unsigned rank) const {
  return static_cast<unsigned>(std::ranges::upper_bound(first_ranks_, rank) - first_ranks_.begin() - 1);
}

part_list parts_of(const device::record_shape& shape, std::span<const plan::transfer> transfers,
                   std::span<const endpoint> endpoints, const rank_map& ranks) {
  const unsigned first_rank = endpoints.front().rank;
  const auto is_here = [&](unsigned rank) { return rank >= first_rank && rank - first_rank < endpoints.size(); };
  part_list list;
  for (const plan::transfer& t : transfers) {
    const std::uint64_t key_bytes = t.count * shape.codec.width_bytes();
    const std::uint64_t value_bytes = t.count * shape.value_bytes;
    if (is_here(t.source_rank)) {
      const endpoint& owner = endpoints[t.source_rank - first_rank];
      const unsigned peer = ranks.node_rank_of(t.destination_rank);
      const device::records from = advance(shape, owner.source, t.source_offset);
      add<outgoing_part>(list.outgoing, list.ranges, {peer, bytes_at(from.keys), key_bytes}, owner);
      add<outgoing_part>(list.outgoing, list.ranges, {peer, bytes_at(from.values), value_bytes}, owner);
      if (t.destination_rank != t.source_rank) list.bytes += key_bytes + value_bytes;
    }
    if (is_here(t.destination_rank)) {
      const endpoint& owner = endpoints[t.destination_rank - first_rank];
      const unsigned peer = ranks.node_rank_of(t.source_rank);
      const device::records to = advance(shape, owner.destination, t.destination_offset);
      add<incoming_part>(list.incoming, list.ranges, {peer, bytes_at(to.keys), key_bytes}, owner);
      add<incoming_part>(list.incoming, list.ranges, {peer, bytes_at(to.values), value_bytes}, owner);
    }
  }
  return list;
}

}  // namespace spansort::transport
