// SPDX-License-Identifier: Apache-2.0
// Order statistics of data that is on the devices already: one GPU, several, host devices. As in statistics.hpp and
// top_k.hpp, to the bit, the mean included, however the keys are cut into shards.
//
// Shards are those of resident.hpp, one for each device that options.devices names ("auto" names none); `values` and
// `capacity` are not looked at. The call begins when what is on the shards' streams is done, blocks, and leaves the
// keys as they are. What crosses the link is samples, counts and what is asked for; for indices also each 2^20 keys
// among which one that is asked for lies.
// Memory on each device: what the function's host counterpart needs for the device's share, and 34 MiB a GPU; for
// indices 8 MiB of host memory besides.
// options.order is about all shards, one after the other: so it is after sort().
//     const spansort::sharded_keys keys{type, shards};
//     spansort::sort(keys, {.devices = "gpu:0,1"});
//     spansort::summary s = spansort::summarize(
//         keys, {.order = spansort::key_order::ascending, .devices = "gpu:0,1"});
// Throws as the host counterparts; invalid_argument also for shards that are not the devices'.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "spansort/resident.hpp"
#include "spansort/statistics.hpp"
#include "spansort/top_k.hpp"

namespace spansort {

/// A resident_sorter that takes order statistics too, by the functions below as members. It keeps devices, streams and
/// scratch from call to call, where a free function opens devices and takes scratch anew every time. The devices are
/// those of its own list: options.devices stays "auto", or names the same list (invalid_argument otherwise). Not safe
/// for concurrent use.
///     spansort::resident_session session({.devices = "gpu:0,1"});
///     session.sort({type, shards});
///     spansort::summary s = session.summarize({type, shards}, {.order = spansort::key_order::ascending});
class resident_session : public resident_sorter {
 public:
  using resident_sorter::resident_sorter;

  [[nodiscard]] std::vector<double> quantiles(const_sharded_keys keys, std::span<const double> q,
                                              const quantile_options& options = {});
  [[nodiscard]] double quantile(const_sharded_keys keys, double q, const quantile_options& options = {}) {
    return quantiles(keys, {&q, 1}, options).front();
  }
  [[nodiscard]] double median(const_sharded_keys keys, const quantile_options& options = {}) {
    return quantile(keys, 0.5, options);
  }
  [[nodiscard]] summary summarize(const_sharded_keys keys, const summary_options& options = {});
  [[nodiscard]] std::vector<std::uint64_t> histogram(const_sharded_keys keys, std::span<const double> edges,
                                                     const count_options& options = {});
  [[nodiscard]] key_rank rank_of(const_sharded_keys keys, const void* value, const count_options& options = {});
  [[nodiscard]] std::vector<std::byte> top_k(const_sharded_keys keys, std::uint64_t k, const top_options& options = {});
  [[nodiscard]] std::vector<std::byte> bottom_k(const_sharded_keys keys, std::uint64_t k,
                                                const top_options& options = {});
  [[nodiscard]] std::vector<std::uint64_t> top_k_indices(const_sharded_keys keys, std::uint64_t k,
                                                         const top_options& options = {});
  [[nodiscard]] std::vector<std::uint64_t> bottom_k_indices(const_sharded_keys keys, std::uint64_t k,
                                                            const top_options& options = {});
};

[[nodiscard]] std::vector<double> quantiles(const_sharded_keys keys, std::span<const double> q,
                                            const quantile_options& options);

/// Returns one quantile of shards, as quantiles() gives it.
[[nodiscard]] inline double quantile(const_sharded_keys keys, double q, const quantile_options& options) {
  return spansort::quantiles(keys, {&q, 1}, options).front();
}

/// Returns the median of shards, as quantiles() gives it at 0.5.
[[nodiscard]] inline double median(const_sharded_keys keys, const quantile_options& options) {
  return spansort::quantile(keys, 0.5, options);
}

[[nodiscard]] summary summarize(const_sharded_keys keys, const summary_options& options);

[[nodiscard]] std::vector<std::uint64_t> histogram(const_sharded_keys keys, std::span<const double> edges,
                                                   const count_options& options);

/// `value` points to one key of the keys' type in host memory.
[[nodiscard]] key_rank rank_of(const_sharded_keys keys, const void* value, const count_options& options);

/// The k largest keys, the largest first, as bytes in host memory, where they are sorted.
[[nodiscard]] std::vector<std::byte> top_k(const_sharded_keys keys, std::uint64_t k, const top_options& options);

/// The k smallest, the smallest first.
[[nodiscard]] std::vector<std::byte> bottom_k(const_sharded_keys keys, std::uint64_t k, const top_options& options);

/// Returns where the k largest keys are, counted from 0 over all shards one after the other, the largest first. Of keys
/// that compare equal the earlier wins and comes first.
[[nodiscard]] std::vector<std::uint64_t> top_k_indices(const_sharded_keys keys, std::uint64_t k,
                                                       const top_options& options);

/// Returns where the k smallest keys are, the smallest first.
[[nodiscard]] std::vector<std::uint64_t> bottom_k_indices(const_sharded_keys keys, std::uint64_t k,
                                                          const top_options& options);

}  // namespace spansort
