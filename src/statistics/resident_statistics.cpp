// SPDX-License-Identifier: Apache-2.0
// Order statistics of shards: opens the devices, then as with keys in host memory.
#include "spansort/resident_statistics.hpp"

#include <algorithm>
#include <memory>

#include "sort/arguments.hpp"
#include "spansort/errors.hpp"
#include "statistics/box.hpp"
#include "statistics/chunked_keys.hpp"
#include "statistics/mean.hpp"
#include "statistics/open_keys.hpp"
#include "statistics/sorted_keys.hpp"
#include "statistics/statistics_of.hpp"

namespace spansort {
namespace {

/// Copies keys from position `begin` of all chunks on to host memory, and waits.
void read_chunks(const statistics::key_storage& storage, std::uint64_t begin, std::uint64_t count, void* to) {
  const std::size_t width = size_bytes(storage.type);
  char* next = static_cast<char*>(to);
  for (const statistics::key_chunk& c : storage.chunks) {
    const std::uint64_t taken = begin < c.num_keys ? std::min(count, c.num_keys - begin) : 0;
    if (taken != 0) {
      c.queue->copy(next, static_cast<const char*>(c.keys) + begin * width, taken * width, "read");
      c.queue->synchronize();
    }
    next += taken * width;
    count -= taken;
    begin = begin > c.num_keys ? begin - c.num_keys : 0;
  }
}

std::unique_ptr<statistics::ordered_keys> open_shards(key_type type, std::span<const shard> shards,
                                                      const statistics::key_access& access, bool descending = false) {
  sorting::check_hooks(access.hooks);
  statistics::key_storage opened = statistics::resident_keys(type, shards, access.devices, access.hooks);
  if (access.order == key_order::unknown) {
    return std::make_unique<statistics::chunked_keys>(std::move(opened), descending);
  }
  const auto storage = std::make_shared<statistics::key_storage>(std::move(opened));
  return std::make_unique<statistics::sorted_keys>(
      statistics::sorted_source{.type = type,
                                .num_keys = storage->num_keys,
                                .is_descending = access.order == key_order::descending,
                                .read = [storage](std::uint64_t begin, std::uint64_t count,
                                                  void* to) { read_chunks(*storage, begin, count, to); },
                                .mean = [storage] { return statistics::mean(storage->type, storage->chunks); }},
      descending);
}

std::vector<std::byte> first_of_shards(key_type type, std::span<const shard> shards, std::uint64_t k, bool descending,
                                       const top_options& options) {
  const auto opened = open_shards(type, shards, {options.order, options.devices}, descending);
  return opened->slice(0, statistics::num_firsts(*opened, k, options.nans));
}

}  // namespace

std::vector<double> quantiles_resident(key_type type, std::span<const shard> shards, std::span<const double> q,
                                       const quantile_options& options) {
  const auto opened = open_shards(type, shards, {options.order, options.devices});
  return statistics::quantiles_of(*opened, q, options);
}

summary summarize_resident(key_type type, std::span<const shard> shards, const summary_options& options) {
  statistics::require_valid(options.whiskers);
  const auto opened = open_shards(type, shards, {options.order, options.devices});
  return statistics::summary_of(*opened, options);
}

key_rank rank_of_resident(key_type type, std::span<const shard> shards, const void* value,
                          const rank_options& options) {
  if (value == nullptr) throw invalid_argument("rank_of_resident: null pointer for the value");
  const auto opened = open_shards(type, shards, {options.order, options.devices});
  return statistics::rank_in(*opened, statistics::bits_of_key(value, 0, opened->key_bytes()));
}

std::vector<std::byte> top_k_resident(key_type type, std::span<const shard> shards, std::uint64_t k,
                                      const top_options& options) {
  return first_of_shards(type, shards, k, true, options);
}

std::vector<std::byte> bottom_k_resident(key_type type, std::span<const shard> shards, std::uint64_t k,
                                         const top_options& options) {
  return first_of_shards(type, shards, k, false, options);
}

}  // namespace spansort
