// SPDX-License-Identifier: Apache-2.0
// Order statistics of shards: opens the devices, then as with keys in host memory.
#include "spansort/resident_statistics.hpp"

#include <algorithm>
#include <memory>

#include "base/threads.hpp"
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

/// Shards, and the sorter whose devices are to be used; without one, devices are opened.
struct shards_and_sorter {
  const_sharded_keys keys;
  resident_sorter* sorter = nullptr;
};

statistics::key_storage storage_of(const shards_and_sorter& of, const statistics::key_access& access) {
  if (of.sorter != nullptr) return statistics::resident_keys(of.keys, access.devices, *of.sorter);
  sorting::check_hooks(access.hooks);
  return statistics::resident_keys(of.keys, access.devices, access.threads, access.hooks);
}

std::unique_ptr<statistics::ordered_keys> open_shards(const shards_and_sorter& of, const statistics::key_access& access,
                                                      bool descending = false) {
  statistics::key_storage opened = storage_of(of, access);
  if (access.order == key_order::unknown) {
    return std::make_unique<statistics::chunked_keys>(std::move(opened), descending);
  }
  const auto storage = std::make_shared<statistics::key_storage>(std::move(opened));
  return std::make_unique<statistics::sorted_keys>(
      statistics::sorted_source{.type = of.keys.type,
                                .num_keys = storage->num_keys,
                                .is_descending = access.order == key_order::descending,
                                .read = [storage](std::uint64_t begin, std::uint64_t count,
                                                  void* to) { read_chunks(*storage, begin, count, to); },
                                .mean = [storage] { return statistics::mean(storage->type, storage->chunks); }},
      descending);
}

std::vector<double> quantiles_of_shards(const shards_and_sorter& of, std::span<const double> q,
                                        const quantile_options& options) {
  return statistics::quantiles_of(*open_shards(of, {options.order, options.devices, options.threads}), q, options);
}

summary summary_of_shards(const shards_and_sorter& of, const summary_options& options) {
  statistics::require_valid(options.whiskers);
  const auto opened = open_shards(of, {options.order, options.devices, options.threads});
  return base::with_threads(options.threads, [&] { return statistics::summary_of(*opened, options); });
}

std::vector<std::uint64_t> histogram_of_shards(const shards_and_sorter& of, std::span<const double> edges,
                                               const count_options& options) {
  statistics::require_edges(edges);
  return statistics::histogram_of(*open_shards(of, {options.order, options.devices, options.threads}), edges);
}

key_rank rank_in_shards(const shards_and_sorter& of, const void* value, const count_options& options) {
  if (value == nullptr) throw invalid_argument("rank_of: null pointer for the value");
  const auto opened = open_shards(of, {options.order, options.devices, options.threads});
  return statistics::rank_in(*opened, statistics::bits_of_key(value, 0, opened->key_bytes()));
}

std::vector<std::byte> first_of_shards(const shards_and_sorter& of, std::uint64_t k, bool descending,
                                       const top_options& options) {
  const auto opened = open_shards(of, {options.order, options.devices, options.threads}, descending);
  return opened->slice(0, statistics::num_firsts(*opened, k, options.nans));
}

std::vector<std::uint64_t> first_indices_of_shards(const shards_and_sorter& of, std::uint64_t k, bool descending,
                                                   const top_options& options) {
  const auto opened = open_shards(of, {options.order, options.devices, options.threads}, descending);
  const std::uint64_t num_firsts = statistics::num_firsts(*opened, k, options.nans);
  return base::with_threads(options.threads, [&] { return opened->first_positions(num_firsts); });
}

}  // namespace

std::vector<double> quantiles(const_sharded_keys keys, std::span<const double> q, const quantile_options& options) {
  return quantiles_of_shards({keys}, q, options);
}

summary summarize(const_sharded_keys keys, const summary_options& options) {
  return summary_of_shards({keys}, options);
}

std::vector<std::uint64_t> histogram(const_sharded_keys keys, std::span<const double> edges,
                                     const count_options& options) {
  return histogram_of_shards({keys}, edges, options);
}

key_rank rank_of(const_sharded_keys keys, const void* value, const count_options& options) {
  return rank_in_shards({keys}, value, options);
}

std::vector<std::byte> top_k(const_sharded_keys keys, std::uint64_t k, const top_options& options) {
  return first_of_shards({keys}, k, true, options);
}

std::vector<std::byte> bottom_k(const_sharded_keys keys, std::uint64_t k, const top_options& options) {
  return first_of_shards({keys}, k, false, options);
}

std::vector<std::uint64_t> top_k_indices(const_sharded_keys keys, std::uint64_t k, const top_options& options) {
  return first_indices_of_shards({keys}, k, true, options);
}

std::vector<std::uint64_t> bottom_k_indices(const_sharded_keys keys, std::uint64_t k, const top_options& options) {
  return first_indices_of_shards({keys}, k, false, options);
}

std::vector<double> resident_session::quantiles(const_sharded_keys keys, std::span<const double> q,
                                                const quantile_options& options) {
  return quantiles_of_shards({keys, this}, q, options);
}

summary resident_session::summarize(const_sharded_keys keys, const summary_options& options) {
  return summary_of_shards({keys, this}, options);
}

std::vector<std::uint64_t> resident_session::histogram(const_sharded_keys keys, std::span<const double> edges,
                                                       const count_options& options) {
  return histogram_of_shards({keys, this}, edges, options);
}

key_rank resident_session::rank_of(const_sharded_keys keys, const void* value, const count_options& options) {
  return rank_in_shards({keys, this}, value, options);
}

std::vector<std::byte> resident_session::top_k(const_sharded_keys keys, std::uint64_t k, const top_options& options) {
  return first_of_shards({keys, this}, k, true, options);
}

std::vector<std::byte> resident_session::bottom_k(const_sharded_keys keys, std::uint64_t k,
                                                  const top_options& options) {
  return first_of_shards({keys, this}, k, false, options);
}

std::vector<std::uint64_t> resident_session::top_k_indices(const_sharded_keys keys, std::uint64_t k,
                                                           const top_options& options) {
  return first_indices_of_shards({keys, this}, k, true, options);
}

std::vector<std::uint64_t> resident_session::bottom_k_indices(const_sharded_keys keys, std::uint64_t k,
                                                              const top_options& options) {
  return first_indices_of_shards({keys, this}, k, false, options);
}

}  // namespace spansort
