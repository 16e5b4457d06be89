// SPDX-License-Identifier: Apache-2.0
#include "algorithms/workspace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include "base/assert.hpp"
#include "base/available_memory.hpp"
#include "base/math.hpp"
#include "spansort/errors.hpp"

namespace spansort::algorithms {
namespace {

constexpr std::uint64_t array_alignment_bytes = 4096;

/// An allocation smaller than this costs less than asking what is available.
constexpr std::uint64_t worth_a_limit_bytes = std::uint64_t{64} << 20;

std::uint64_t keys_bytes(const device::record_shape& shape, std::uint64_t num_records) {
  return base::round_up(num_records * shape.codec.width_bytes(), array_alignment_bytes);
}

std::uint64_t held_in(const std::vector<device::buffer>& slots, unsigned slot) {
  return slot < slots.size() ? slots[slot].size_bytes() : 0;
}
std::uint64_t held_for(const slot_request& wish, const std::vector<rank>& ranks) {
  const rank& r = ranks[wish.rank];
  return held_in(wish.on_host ? r.host_slots : r.slots, wish.slot);
}

std::uint64_t sum_of(const std::vector<device::buffer>& slots) {
  std::uint64_t bytes = 0;
  for (const device::buffer& b : slots) bytes += b.size_bytes();
  return bytes;
}

device::records records_in(const std::vector<device::buffer>& slots, unsigned slot, const device::record_shape& shape,
                           std::uint64_t num_records) {
  SPANSORT_ASSERT(held_in(slots, slot) >= slot_bytes(shape, num_records));
  if (num_records == 0) return {};
  char* const begin = static_cast<char*>(slots[slot].data());
  return {begin, shape.value_bytes == 0 ? nullptr : begin + keys_bytes(shape, num_records)};
}

/// Returns the bytes that the wishes take on a rank's device, scratch included.
std::uint64_t wished_bytes(const rank& r, std::size_t number, const device::record_shape& shape,
                           const std::vector<slot_request>& wishes) {
  std::uint64_t bytes = r.device->scratch_bytes();
  for (const slot_request& wish : wishes) {
    if (wish.rank == number && !wish.on_host) bytes += slot_bytes(shape, wish.num_records);
  }
  return bytes;
}

struct shortage {
  std::uint64_t needed_bytes = 0;
  std::uint64_t available_bytes = 0;
  std::string where;
};

/// Finds the first memory that has less available than must be taken there beside what is held.
std::optional<shortage> find_shortage(const std::vector<rank>& ranks, const device::record_shape& shape,
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
    const std::uint64_t wanted = slot_bytes(shape, wish.num_records);
    const std::uint64_t held = held_for(wish, ranks);
    demand& of_memory = demands[wish.on_host ? device::host_memory : ranks[wish.rank].device->memory_id()];
    if (wanted > held) of_memory.bytes += wanted - held;
  }
  for (const auto& [memory, needed] : demands) {
    if (needed.bytes < worth_a_limit_bytes) continue;
    const bool is_host = memory == device::host_memory;
    const std::uint64_t available = is_host ? base::available_memory_bytes() : needed.device->available_bytes();
    if (needed.bytes <= available) continue;
    return shortage{needed.bytes, available, needed.device == nullptr ? "the host" : needed.device->name()};
  }
  return std::nullopt;
}

void clear_slots(std::vector<rank>& ranks) {
  for (rank& r : ranks) {
    r.slots.clear();
    r.host_slots.clear();
  }
}

void make_available(std::vector<rank>& ranks, const device::record_shape& shape,
                    const std::vector<slot_request>& wishes, std::uint64_t other_bytes) {
  if (!find_shortage(ranks, shape, wishes, other_bytes)) return;
  clear_slots(ranks);  // kept from a call that needed others
  const std::optional<shortage> found = find_shortage(ranks, shape, wishes, other_bytes);
  if (!found) return;
  throw out_of_memory(fmt::format("workspace does not fit in the memory of {}: {} bytes needed, {} bytes available",
                                  found->where, found->needed_bytes, found->available_bytes),
                      found->needed_bytes, found->available_bytes);
}

/// Slots that the wishes do not ask for, or not so large, go where they would keep a device above its limit.
void keep_device_limit(std::vector<rank>& ranks, const device::record_shape& shape,
                       const std::vector<slot_request>& wishes, std::uint64_t limit_bytes) {
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    rank& r = ranks[i];
    const std::uint64_t most = limit_bytes / num_entries(ranks, r);
    const std::uint64_t needed = wished_bytes(r, i, shape, wishes);
    if (needed > most) {
      const std::uint64_t needed_of_all = needed * num_entries(ranks, r);
      throw out_of_memory(
          fmt::format("workspace of {} bytes on {} exceeds the limit of {} bytes on a device (device_memory_bytes)",
                      needed_of_all, r.device->name(), limit_bytes),
          needed_of_all, limit_bytes);
    }
    std::uint64_t held_afterwards = needed;
    for (unsigned slot = 0; slot < r.slots.size(); ++slot) held_afterwards += r.slots[slot].size_bytes();
    for (const slot_request& wish : wishes) {
      if (wish.rank != i || wish.on_host) continue;
      held_afterwards -= std::min(held_in(r.slots, wish.slot), slot_bytes(shape, wish.num_records));
    }
    if (held_afterwards > most) r.slots.clear();
  }
}

}  // namespace

std::uint64_t slot_bytes(const device::record_shape& shape, std::uint64_t num_records) noexcept {
  return keys_bytes(shape, num_records) + num_records * shape.value_bytes;
}

std::uint64_t records_of_slot(const device::record_shape& shape, std::uint64_t size_bytes) noexcept {
  if (shape.value_bytes == 0) return size_bytes / array_alignment_bytes * array_alignment_bytes / shape.bytes();
  // The more pages for keys, the less is left for values: the most records are where both are about full.
  const std::uint64_t pages = size_bytes / shape.bytes() * shape.codec.width_bytes() / array_alignment_bytes;
  std::uint64_t most = 0;
  for (const std::uint64_t key_bytes : {pages * array_alignment_bytes, (pages + 1) * array_alignment_bytes}) {
    const std::uint64_t left = size_bytes - std::min(size_bytes, key_bytes);
    most = std::max(most, std::min(key_bytes / shape.codec.width_bytes(), left / shape.value_bytes));
  }
  return most;
}

device::records slot_records(const rank& of, unsigned slot, const device::record_shape& shape,
                             std::uint64_t num_records) {
  return records_in(of.slots, slot, shape, num_records);
}

device::records host_slot_records(const rank& of, unsigned slot, const device::record_shape& shape,
                                  std::uint64_t num_records) {
  return records_in(of.host_slots, slot, shape, num_records);
}

std::uint64_t num_entries(const std::vector<rank>& ranks, const rank& r) {
  return static_cast<std::uint64_t>(
      std::ranges::count_if(ranks, [&](const rank& other) { return other.device->name() == r.device->name(); }));
}

std::uint64_t held_device_bytes(const rank& r) noexcept { return sum_of(r.slots) + r.scratch_bytes; }

std::uint64_t held_bytes(const std::vector<rank>& ranks) noexcept {
  std::uint64_t bytes = 0;
  for (const rank& r : ranks) bytes += held_device_bytes(r) + sum_of(r.host_slots);
  return bytes;
}

void release(std::vector<rank>& ranks) {
  clear_slots(ranks);
  for (rank& r : ranks) {
    r.device->release();
    r.scratch_bytes = 0;
  }
}

std::uint64_t device_room_bytes(const std::vector<rank>& ranks, const rank& r, std::uint64_t limit_bytes) {
  if (limit_bytes != 0) return limit_bytes / num_entries(ranks, r);
  const int memory = r.device->memory_id();
  std::uint64_t held = 0;
  std::uint64_t num_sharers = 0;
  for (const rank& other : ranks) {
    if (other.device->memory_id() != memory) continue;
    held += held_device_bytes(other);
    ++num_sharers;
  }
  // Allocations are rounded up, and others may be made meanwhile.
  constexpr std::uint64_t kept_back = 16;
  const std::uint64_t available = r.device->available_bytes();
  return (available - available / kept_back + held) / num_sharers;
}

bool fits_devices(const std::vector<rank>& ranks, const device::record_shape& shape,
                  const std::vector<slot_request>& wishes, std::uint64_t limit_bytes) {
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const rank& r = ranks[i];
    const std::uint64_t needed = wished_bytes(r, i, shape, wishes);
    if (limit_bytes == 0 && r.device->shares_host_memory()) continue;
    if (limit_bytes == 0 && needed < held_device_bytes(r) + worth_a_limit_bytes) continue;
    if (needed > device_room_bytes(ranks, r, limit_bytes)) return false;
  }
  return true;
}

void reserve_workspace(std::vector<rank>& ranks, const device::record_shape& shape,
                       const std::vector<slot_request>& wishes, std::uint64_t other_bytes, std::uint64_t limit_bytes,
                       std::uint64_t device_limit_bytes) {
  std::uint64_t needed = other_bytes;
  std::uint64_t held_afterwards = other_bytes + held_bytes(ranks);
  for (const rank& r : ranks) {
    needed += r.device->scratch_bytes();
    held_afterwards += r.device->scratch_bytes() - r.scratch_bytes;
  }
  for (const slot_request& wish : wishes) {
    const std::uint64_t wanted = slot_bytes(shape, wish.num_records);
    const std::uint64_t held = held_for(wish, ranks);
    needed += wanted;
    held_afterwards += std::max(wanted, held) - held;
  }
  if (limit_bytes != 0 && needed > limit_bytes) {
    throw out_of_memory(fmt::format("workspace of {} bytes exceeds the limit of {} bytes", needed, limit_bytes), needed,
                        limit_bytes);
  }
  if (device_limit_bytes != 0) keep_device_limit(ranks, shape, wishes, device_limit_bytes);
  if (limit_bytes != 0 && held_afterwards > limit_bytes) clear_slots(ranks);  // kept from a call of another shape
  make_available(ranks, shape, wishes, other_bytes);
  for (rank& r : ranks) {
    r.device->prepare();
    r.scratch_bytes = r.device->scratch_bytes();
  }
  for (const slot_request& wish : wishes) {
    rank& r = ranks[wish.rank];
    std::vector<device::buffer>& slots = wish.on_host ? r.host_slots : r.slots;
    if (slots.size() <= wish.slot) slots.resize(wish.slot + 1);
    device::buffer& slot = slots[wish.slot];
    const std::uint64_t wanted = slot_bytes(shape, wish.num_records);
    if (slot.size_bytes() >= wanted) continue;
    slot = {};  // the old one goes first: they need not both fit
    slot = wish.on_host ? r.device->allocate_host(wanted) : r.device->allocate(wanted);
  }
}

}  // namespace spansort::algorithms
