// SPDX-License-Identifier: Apache-2.0
// Sorts of data that is on the devices: checks shards, and runs a driver on them where they lie.
#include "spansort/resident.hpp"

#include <fmt/format.h>

#include "algorithms/registry.hpp"
#include "algorithms/rmg_state.hpp"
#include "base/threads.hpp"
#include "sort/arguments.hpp"
#include "sort/gpu_devices.hpp"
#include "sort/gpu_enqueue.hpp"
#include "sort/open_devices.hpp"
#include "sort/resident_access.hpp"
#include "sort/resident_order.hpp"
#include "sort/run_reported.hpp"
#include "sort/shards.hpp"
#include "spansort/errors.hpp"

namespace spansort {

struct resident_sorter::state {
  explicit state(sort_options sorter_options)
      : options(algorithms::settings_of(std::move(sorter_options))),
        devices(sorting::named_devices(options.devices)),
        algorithm(algorithms::find_algorithm(name(options.algorithm))),
        ranks(sorting::open_ranks(devices, {.hooks = options.hooks,
                                            .hook = sorting::failing_allocations(options.hooks, num_allocations),
                                            .gpu_memory = options.gpu_memory,
                                            .threads = options.threads})) {
    sorting::check_tuning(options.tuning);
    sorting::check_hooks(options.hooks);
  }

  void sort(const device::record_shape& shape, std::span<shard> shards, shard_sizes sizes);
  /// Returns whether one GPU sorts and nobody wants to hear more than the result. Such a sort goes without queue and
  /// driver: small ones take less time than these.
  [[nodiscard]] bool allows_short_way() const;
  void sort_short(const device::record_shape& shape, const shard& only);
  void reserve_short(std::uint64_t size_bytes, void* stream);

  algorithms::sort_settings options;
  sorting::device_set devices;
  const algorithms::entry& algorithm;
  std::uint64_t num_allocations = 0;
  std::vector<algorithms::rank> ranks;
  device::buffer short_workspace;  ///< of the short way; memory of the only rank's device
};

bool resident_sorter::state::allows_short_way() const {
  const bool takes_default =
      options.algorithm == spansort::algorithm::automatic || options.algorithm == spansort::algorithm::single;
  return devices.gpus.size() == 1 && takes_default && options.report == nullptr && options.on_progress == nullptr &&
         options.memory_limit_bytes == 0 && options.device_memory_bytes == 0;
}

void resident_sorter::state::reserve_short(std::uint64_t size_bytes, void* stream) {
  if (short_workspace.size_bytes() >= size_bytes) return;
  for (device::buffer& slot : ranks[0].slots) slot = {};
  short_workspace = {};
  short_workspace = ranks[0].device->allocate_on(stream, size_bytes);
}

void resident_sorter::state::sort_short(const device::record_shape& shape, const shard& only) {
  const int gpu = devices.gpus[0];
  sorting::gpu_sort sort{.shape = shape, .num_records = only.num_keys, .may_wait = true, .hooks = options.hooks};
  bool has_begun = false;
  const auto work = [&] {
    try {
      reserve_short(sorting::gpu_sort_bytes_on(gpu, sort), only.stream);
    } catch (const out_of_memory&) {
      // Memory for buckets, which the wait is for, is a wish.
      sort.may_wait = false;
      reserve_short(sorting::gpu_sort_bytes_on(gpu, sort), only.stream);
    }
    has_begun = true;
    sorting::run_gpu_sort(gpu, sort, {only.keys, only.values}, short_workspace.data(), only.stream);
  };
  sorting::run_telling_state(work, [&] { return has_begun; });
}

void resident_sorter::state::sort(const device::record_shape& shape, std::span<shard> shards, shard_sizes sizes) {
  const sorting::gpu_call call(devices, options.hooks);
  sorting::check_shards(ranks, shape, shards);
  if (!algorithm.is.uses_all_devices && shards.size() != 1) {
    throw invalid_argument(fmt::format("algorithm {} sorts one shard, not {}", algorithm.name, shards.size()));
  }
  if (allows_short_way()) return sort_short(shape, shards[0]);
  short_workspace = {};
  algorithms::resident_input input{.parts = {}, .keeps_sizes = sizes == shard_sizes::as_given};
  std::uint64_t num_keys = 0;
  for (const shard& s : shards) {
    input.parts.push_back({{s.keys, s.values}, s.num_keys, sorting::capacity_of(s)});
    num_keys += s.num_keys;
  }
  const algorithms::problem problem{.shape = shape, .input = std::move(input), .num_keys = num_keys};
  algorithms::check_part_capacities(problem, ranks, options);
  const algorithms::choice chosen = algorithms::choose(algorithm, ranks, options, problem);
  algorithms::reserve_workspace(ranks, shape, chosen.workspace, 0, options.memory_limit_bytes,
                                options.device_memory_bytes);
  for (std::size_t i = 0; i < shards.size(); ++i) ranks[i].queue->wait_for_stream(shards[i].stream);
  sort_report unseen;
  sort_report& report = options.report == nullptr ? unseen : *options.report;
  const char* const name = shape.value_bytes == 0 ? "sort" : "sort_pairs";
  base::with_threads(options.threads,
                     [&] { sorting::run_reported(chosen, ranks, options, problem, {.name = name}, {}, report); });
  for (std::size_t i = 0; i < shards.size(); ++i) shards[i].num_keys = report.ranks[i].num_keys_out;
}

resident_sorter::resident_sorter(sort_options options) : state_(std::make_unique<state>(std::move(options))) {}
resident_sorter::~resident_sorter() = default;
resident_sorter::resident_sorter(resident_sorter&&) noexcept = default;
resident_sorter& resident_sorter::operator=(resident_sorter&&) noexcept = default;

void resident_sorter::sort(sharded_keys keys, direction d, shard_sizes sizes) {
  state_->sort({{keys.type, keys::is_descending(d), keys::tie_rule::by_bits}, 0}, keys.shards, sizes);
}

void resident_sorter::sort_pairs(sharded_keys keys, std::uint64_t value_bytes, direction d, shard_sizes sizes) {
  if (value_bytes != 4 && value_bytes != 8 && value_bytes != 16) {
    throw invalid_argument(fmt::format("resident values have 4, 8 or 16 bytes each, not {}", value_bytes));
  }
  const keys::key_codec codec{keys.type, keys::is_descending(d), keys::tie_rule::by_input_order};
  state_->sort({codec, static_cast<unsigned>(value_bytes)}, keys.shards, sizes);
}

bool resident_sorter::is_sorted(const_sharded_keys keys, direction d) {
  const sorting::gpu_call call(state_->devices, state_->options.hooks);
  sorting::check_keys_of_shards(state_->ranks, keys);
  return sorting::is_sorted_on(state_->ranks, keys, d);
}

std::vector<algorithms::rank>& detail::resident_access::ranks(resident_sorter& sorter) { return sorter.state_->ranks; }

const sorting::device_set& detail::resident_access::devices(const resident_sorter& sorter) {
  return sorter.state_->devices;
}

const device_list& detail::resident_access::list(const resident_sorter& sorter) {
  return sorter.state_->options.devices;
}

const base::test_hooks& detail::resident_access::hooks(const resident_sorter& sorter) {
  return sorter.state_->options.hooks;
}

void sort(sharded_keys keys, direction d, const sort_options& options, shard_sizes sizes) {
  resident_sorter(options).sort(keys, d, sizes);
}

void sort(sharded_keys keys, const sort_options& options, shard_sizes sizes) {
  sort(keys, direction::ascending, options, sizes);
}

void sort_pairs(sharded_keys keys, std::uint64_t value_bytes, direction d, const sort_options& options,
                shard_sizes sizes) {
  resident_sorter(options).sort_pairs(keys, value_bytes, d, sizes);
}

void sort_pairs(sharded_keys keys, std::uint64_t value_bytes, const sort_options& options, shard_sizes sizes) {
  sort_pairs(keys, value_bytes, direction::ascending, options, sizes);
}

bool is_sorted(const_sharded_keys keys, direction d, const sort_options& options) {
  return resident_sorter(options).is_sorted(keys, d);
}

bool is_sorted(const_sharded_keys keys, const sort_options& options) {
  return is_sorted(keys, direction::ascending, options);
}

}  // namespace spansort
