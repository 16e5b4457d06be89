// SPDX-License-Identifier: Apache-2.0
#include "sort/shards.hpp"

#include <fmt/format.h>

#include <limits>
#include <vector>

#include "sort/arguments.hpp"
#include "spansort/errors.hpp"

namespace spansort::sorting {
namespace {

struct memory_range {
  std::uintptr_t begin = 0;
  std::uint64_t size_bytes = 0;

  [[nodiscard]] bool overlaps(const memory_range& other) const {
    return begin < other.begin + other.size_bytes && other.begin < begin + size_bytes;
  }
};

memory_range range_of(const void* memory, std::uint64_t size_bytes) {
  return {reinterpret_cast<std::uintptr_t>(memory), memory == nullptr ? 0 : size_bytes};
}

void check_memory(const device::device& device, const void* memory, std::uint64_t element_bytes, std::size_t i,
                  const char* what) {
  if (memory == nullptr) throw invalid_argument(fmt::format("shard {}: null pointer for its {}", i, what));
  if (reinterpret_cast<std::uintptr_t>(memory) % element_bytes != 0) {
    throw invalid_argument(fmt::format("shard {}: {} are not aligned to {} bytes", i, what, element_bytes));
  }
  if (!device.owns(memory)) {
    throw invalid_argument(fmt::format("shard {}: its {} do not lie in the memory of {}", i, what, device.name()));
  }
}

/// `values` names these in messages.
void check_records(const std::vector<algorithms::rank>& ranks, const device::record_shape& shape,
                   std::span<const shard> shards, const char* values) {
  if (shards.size() != ranks.size()) {
    throw invalid_argument(fmt::format("{} shards for {} devices: expected one a device", shards.size(), ranks.size()));
  }
  std::vector<memory_range> ranges;
  for (std::size_t i = 0; i < shards.size(); ++i) {
    const shard& s = shards[i];
    const std::uint64_t capacity = capacity_of(s);
    if (capacity < s.num_keys) {
      throw invalid_argument(fmt::format("shard {}: {} keys, but room for {}", i, s.num_keys, capacity));
    }
    if (capacity == 0) continue;
    if (capacity > std::numeric_limits<std::uint64_t>::max() / 64) {
      throw invalid_argument(fmt::format("shard {}: room for {} keys cannot lie in memory", i, capacity));
    }
    check_memory(*ranks[i].device, s.keys, shape.codec.width_bytes(), i, "keys");
    ranges.push_back(range_of(s.keys, capacity * shape.codec.width_bytes()));
    if (shape.value_bytes == 0) continue;
    check_memory(*ranks[i].device, s.values, shape.value_bytes, i, values);
    ranges.push_back(range_of(s.values, capacity * shape.value_bytes));
  }
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (ranges[i].overlaps(ranges[j])) throw invalid_argument("memory of the shards overlaps");
    }
  }
}

std::vector<shard> without_capacity(const const_sharded_keys& keys) {
  std::vector<shard> shards(keys.shards.begin(), keys.shards.end());
  for (shard& s : shards) s.capacity = 0;
  return shards;
}

}  // namespace

device_set named_devices(const device_list& list) {
  const device_set devices = resolve_devices(list);
  if (devices.is_auto) throw invalid_argument("shards need their devices by name, as gpu:0,1; found 'auto'");
  return devices;
}

std::uint64_t capacity_of(const shard& s) { return s.capacity == 0 ? s.num_keys : s.capacity; }

void check_shards(const std::vector<algorithms::rank>& ranks, const device::record_shape& shape,
                  std::span<const shard> shards) {
  check_records(ranks, shape, shards, "values");
}

void check_keys_of_shards(const std::vector<algorithms::rank>& ranks, const const_sharded_keys& keys) {
  check_shards(ranks, {{keys.type, false, keys::tie_rule::by_bits}, 0}, without_capacity(keys));
}

std::vector<shard> argsort_shards(const std::vector<algorithms::rank>& ranks, const const_sharded_keys& keys,
                                  std::span<void* const> indices, std::uint64_t index_bytes) {
  if (indices.size() != keys.shards.size()) {
    throw invalid_argument(
        fmt::format("{} arrays of indices for {} shards: expected one a shard", indices.size(), keys.shards.size()));
  }
  std::vector<shard> shards = without_capacity(keys);
  std::uint64_t num_keys = 0;
  for (std::size_t i = 0; i < shards.size(); ++i) {
    shards[i].values = indices[i];
    num_keys += shards[i].num_keys;
  }
  check_index_width(num_keys, index_bytes);
  const device::record_shape shape{{keys.type, false, keys::tie_rule::by_bits}, static_cast<unsigned>(index_bytes)};
  check_records(ranks, shape, shards, "indices");
  return shards;
}

}  // namespace spansort::sorting
