// SPDX-License-Identifier: Apache-2.0
#include "statistics/key_storage.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/shares.hpp"
#include "sort/resident_access.hpp"
#include "sort/shards.hpp"
#include "spansort/errors.hpp"
#include "statistics/take_sample.hpp"

namespace spansort::statistics {
namespace {

/// Reading fewer keys takes less time than waking threads.
constexpr std::uint64_t keys_worth_threads = std::uint64_t{1} << 15;
/// One key of so many is collected by a selection of quartiles.
constexpr std::uint64_t collected_part = 8;

/// Returns what chunks on memory `id` need there.
std::uint64_t needed_bytes(const key_storage& storage, int id, unsigned key_bytes) {
  std::uint64_t needed = 0;
  for (const key_chunk& c : storage.chunks) {
    if (c.device->memory_id() != id) continue;
    const std::uint64_t size_bytes = c.num_keys * key_bytes;
    needed += size_bytes + size_bytes / collected_part + c.device->scratch_bytes();
  }
  return needed;
}

void require_room(const key_storage& storage, unsigned key_bytes) {
  for (const key_chunk& c : storage.chunks) {
    const std::uint64_t needed = needed_bytes(storage, c.device->memory_id(), key_bytes);
    const std::uint64_t available = c.device->available_bytes();
    if (needed <= available) continue;
    throw out_of_memory(
        fmt::format("order statistics: {} would hold its part of the keys, which takes {} bytes, and has "
                    "{}; take more devices, or 'cpu', which reads keys where they are",
                    c.device->name(), needed, available),
        needed, available, c.device->name());
  }
}

/// Copies chunks into memory of their devices' own, side by side.
void copy_in(key_storage& storage, unsigned key_bytes) {
  require_room(storage, key_bytes);
  for (const key_chunk& c : storage.chunks) {
    storage.copies.push_back(c.device->allocate(c.num_keys * key_bytes));
  }
  queued_work work(storage.chunks);
  for (std::size_t i = 0; i < storage.chunks.size(); ++i) {
    key_chunk& c = storage.chunks[i];
    c.queue->copy(storage.copies[i].data(), c.keys, c.num_keys * key_bytes, "copy in");
    c.keys = storage.copies[i].data();
  }
  work.finish();
}

/// Equal chunks, copied where devices have memory of their own.
void spread_over(const std::vector<algorithms::rank>& ranks, const const_key_span& keys, key_storage& storage) {
  const unsigned key_bytes = static_cast<unsigned>(size_bytes(keys.type));
  const std::uint64_t count = ranks.size();
  for (std::uint64_t r = 0; r < count; ++r) {
    const std::uint64_t begin = base::share_begin(keys.num_keys, count, r);
    const void* const first = static_cast<const char*>(keys.data) + begin * key_bytes;
    storage.chunks.push_back({.device = ranks[r].device.get(),
                              .queue = ranks[r].queue.get(),
                              .keys = first,
                              .num_keys = base::share_size(keys.num_keys, count, r)});
  }
  for (const algorithms::rank& r : ranks) r.device->prepare();
  if (!ranks.front().device->shares_host_memory()) copy_in(storage, key_bytes);
}

/// Takes shards as chunks, where they lie, behind the work on their streams.
void take_chunks(const std::vector<algorithms::rank>& ranks, const const_sharded_keys& keys, key_storage& storage) {
  sorting::check_keys_of_shards(ranks, keys);
  for (std::size_t i = 0; i < keys.shards.size(); ++i) {
    const algorithms::rank& r = ranks[i];
    storage.chunks.push_back({.device = r.device.get(),
                              .queue = r.queue.get(),
                              .keys = keys.shards[i].keys,
                              .num_keys = keys.shards[i].num_keys});
    storage.num_keys += keys.shards[i].num_keys;
    r.queue->wait_for_stream(keys.shards[i].stream);
    r.device->prepare();
  }
}

}  // namespace

key_storage spread_keys(const_key_span keys, const device_list& devices, unsigned threads,
                        const base::test_hooks& hooks) {
  const sorting::device_set list = sorting::resolve_devices(devices);
  key_storage storage;
  storage.type = keys.type;
  storage.host_keys = keys.data;
  storage.num_keys = keys.num_keys;
  storage.call = std::make_unique<sorting::gpu_call>(list, hooks);
  if (list.gpus.empty() && list.count == 0 && keys.num_keys < keys_worth_threads) {
    storage.ranks.push_back(algorithms::make_rank(sorting::open_calling_thread(hooks, {})));
  } else {
    storage.ranks = sorting::open_ranks(list, {.across_nodes = true, .hooks = hooks, .threads = threads});
  }
  spread_over(storage.ranks, keys, storage);
  return storage;
}

key_storage spread_keys(const_key_span keys, const std::vector<algorithms::rank>& ranks) {
  key_storage storage;
  storage.type = keys.type;
  storage.host_keys = keys.data;
  storage.num_keys = keys.num_keys;
  spread_over(ranks, keys, storage);
  return storage;
}

key_storage resident_keys(const_sharded_keys keys, const device_list& devices, unsigned threads,
                          const base::test_hooks& hooks) {
  const sorting::device_set list = sorting::named_devices(devices);
  key_storage storage;
  storage.type = keys.type;
  storage.call = std::make_unique<sorting::gpu_call>(list, hooks);
  storage.ranks = sorting::open_ranks(list, {.across_nodes = false, .hooks = hooks, .threads = threads});
  take_chunks(storage.ranks, keys, storage);
  return storage;
}

key_storage resident_keys(const_sharded_keys keys, const device_list& asked, resident_sorter& sorter) {
  using access = detail::resident_access;
  if (asked != device_list() && asked != access::list(sorter)) {
    throw invalid_argument(fmt::format("this session has the devices {}; found options for {}",
                                       to_string(access::list(sorter)), to_string(asked)));
  }
  key_storage storage;
  storage.type = keys.type;
  storage.call = std::make_unique<sorting::gpu_call>(access::devices(sorter), access::hooks(sorter));
  std::vector<algorithms::rank>& ranks = access::ranks(sorter);
  take_chunks(ranks, keys, storage);
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    ranks[i].scratch_bytes = ranks[i].device->scratch_bytes();
    if (ranks[i].device->shares_host_memory()) continue;
    // The workspace of sorts serves, too.
    if (ranks[i].slots.empty()) ranks[i].slots.emplace_back();
    storage.chunks[i].kept = &ranks[i].slots.front();
  }
  return storage;
}

}  // namespace spansort::statistics
