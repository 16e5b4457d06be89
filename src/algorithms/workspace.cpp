// SPDX-License-Identifier: Apache-2.0
#include "algorithms/workspace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/assert.hpp"
#include "base/available_memory.hpp"
#include "base/math.hpp"
#include "spansort/errors.hpp"

namespace spansort::algorithms {
namespace {

constexpr std::uint64_t array_alignment_bytes = 4096;

/// Below this, asking what is available costs more than it tells.
constexpr std::uint64_t worth_asking_bytes = std::uint64_t{64} << 20;

std::uint64_t keys_bytes(const device::record_shape& shape, std::uint64_t num_records) {
  return base::round_up(num_records * shape.codec.width_bytes(), array_alignment_bytes);
}

std::uint64_t held_in(const rank& r, unsigned slot) { return slot < r.slots.size() ? r.slots[slot].size_bytes() : 0; }

/// What must be taken beside what is held, memory by memory.
void require_available(const std::vector<rank>& ranks, const device::record_shape& shape,
                       const std::vector<slot_request>& wishes, std::uint64_t other_bytes) {
  struct demand {
    std::uint64_t bytes = 0;
    const device::device* device = nullptr;
  };
  std::map<int, demand> demands;
  demands[device::host_memory].bytes = other_bytes;
  for (const rank& r : ranks) {
    demand& of_memory = demands[r.device->memory_id()];
    of_memory.bytes += r.device->scratch_bytes() - r.scratch_bytes;
    of_memory.device = r.device.get();
  }
  for (const slot_request& wish : wishes) {
    const rank& r = ranks[wish.rank];
    const std::uint64_t wanted = slot_bytes(shape, wish.num_records);
    demand& of_memory = demands[r.device->memory_id()];
    if (wanted > held_in(r, wish.slot)) of_memory.bytes += wanted - held_in(r, wish.slot);
    of_memory.device = r.device.get();
  }
  for (const auto& [memory, needed] : demands) {
    if (needed.bytes < worth_asking_bytes) continue;
    const bool is_host = memory == device::host_memory;
    const std::uint64_t available = is_host ? base::available_memory_bytes() : needed.device->available_bytes();
    if (needed.bytes <= available) continue;
    throw out_of_memory(
        fmt::format("workspace does not fit in the memory of {}: {} bytes needed, {} bytes available",
                    needed.device == nullptr ? "the host" : needed.device->name(), needed.bytes, available),
        needed.bytes, available);
  }
}

}  // namespace

std::uint64_t slot_bytes(const device::record_shape& shape, std::uint64_t num_records) noexcept {
  return keys_bytes(shape, num_records) + num_records * shape.value_bytes;
}

device::records slot_records(const rank& of, unsigned slot, const device::record_shape& shape,
                             std::uint64_t num_records) {
  SPANSORT_ASSERT(held_in(of, slot) >= slot_bytes(shape, num_records));
  if (num_records == 0) return {};
  char* const begin = static_cast<char*>(of.slots[slot].data());
  return {begin, shape.value_bytes == 0 ? nullptr : begin + keys_bytes(shape, num_records)};
}

std::uint64_t held_bytes(const std::vector<rank>& ranks) noexcept {
  std::uint64_t bytes = 0;
  for (const rank& r : ranks) {
    for (const device::buffer& b : r.slots) bytes += b.size_bytes();
    bytes += r.scratch_bytes;
  }
  return bytes;
}

void release(std::vector<rank>& ranks) {
  for (rank& r : ranks) {
    r.slots.clear();
    r.device->release();
    r.scratch_bytes = 0;
  }
}

void reserve_workspace(std::vector<rank>& ranks, const device::record_shape& shape,
                       const std::vector<slot_request>& wishes, std::uint64_t other_bytes, std::uint64_t limit_bytes) {
  std::uint64_t needed = other_bytes;
  std::uint64_t held_afterwards = other_bytes + held_bytes(ranks);
  for (const rank& r : ranks) {
    needed += r.device->scratch_bytes();
    held_afterwards += r.device->scratch_bytes() - r.scratch_bytes;
  }
  for (const slot_request& wish : wishes) {
    const std::uint64_t wanted = slot_bytes(shape, wish.num_records);
    const std::uint64_t held = held_in(ranks[wish.rank], wish.slot);
    needed += wanted;
    held_afterwards += std::max(wanted, held) - held;
  }
  if (limit_bytes != 0 && needed > limit_bytes) {
    throw out_of_memory(fmt::format("workspace of {} bytes exceeds the limit of {} bytes", needed, limit_bytes), needed,
                        limit_bytes);
  }
  if (limit_bytes != 0 && held_afterwards > limit_bytes) {
    for (rank& r : ranks) r.slots.clear();  // kept from a call of another shape
  }
  require_available(ranks, shape, wishes, other_bytes);
  for (rank& r : ranks) {
    r.device->prepare();
    r.scratch_bytes = r.device->scratch_bytes();
  }
  for (const slot_request& wish : wishes) {
    rank& r = ranks[wish.rank];
    if (r.slots.size() <= wish.slot) r.slots.resize(wish.slot + 1);
    device::buffer& slot = r.slots[wish.slot];
    const std::uint64_t wanted = slot_bytes(shape, wish.num_records);
    if (slot.size_bytes() >= wanted) continue;
    slot = {};  // the old one goes first: they need not both fit
    slot = r.device->allocate(wanted);
  }
}

}  // namespace spansort::algorithms
