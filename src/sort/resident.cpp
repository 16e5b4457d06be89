// SPDX-License-Identifier: Apache-2.0
// Sorts of data that is on the devices: checks shards, and runs a driver on them where they lie.
#include "spansort/resident.hpp"

#include <fmt/format.h>

#include <string_view>

#include "algorithms/registry.hpp"
#include "algorithms/rmg_state.hpp"
#include "base/math.hpp"
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
namespace {

/// Returns the sort of shards that have been checked.
algorithms::problem problem_of(const device::record_shape& shape, std::span<const shard> shards, shard_sizes sizes) {
  algorithms::resident_input input{.parts = {}, .keeps_sizes = sizes == shard_sizes::as_given};
  std::uint64_t num_keys = 0;
  for (const shard& s : shards) {
    input.parts.push_back({{s.keys, s.values}, s.num_keys, sorting::capacity_of(s)});
    num_keys += s.num_keys;
  }
  return {.shape = shape, .input = std::move(input), .num_keys = num_keys};
}

}  // namespace

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
  /// The shards' values are the indices.
  void argsort(const device::record_shape& shape, std::span<const shard> shards);
  /// Returns whether one GPU sorts and nobody wants to hear more than the result. Such a sort goes without queue and
  /// driver: small ones take less time than these.
  [[nodiscard]] bool allows_short_way() const;
  void sort_short(const device::record_shape& shape, const shard& only);
  void argsort_short(const device::record_shape& shape, const shard& only);

 private:
  void require_fit(std::size_t num_shards) const;
  void reserve_short(std::uint64_t size_bytes, void* stream);
  /// Takes the workspace that `bytes_of(sort)` names, with memory for buckets or counts where there is room, and calls
  /// `run(sort)`, which begins to overwrite the caller's arrays.
  template <class BytesOf, class Run>
  void run_short(std::string_view name, sorting::gpu_sort sort, void* stream, const BytesOf& bytes_of, const Run& run);
  /// Chooses how the problem is sorted, and takes the workspace for it.
  [[nodiscard]] algorithms::choice reserve(const algorithms::problem& problem);
  /// Sorts what has been reserved for, once the shards' streams have done their work so far.
  void run(const algorithms::choice& chosen, const algorithms::problem& problem, std::span<const shard> shards,
           const sorting::operation& what, sort_report& report);

 public:
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

template <class BytesOf, class Run>
void resident_sorter::state::run_short(std::string_view name, sorting::gpu_sort sort, void* stream,
                                       const BytesOf& bytes_of, const Run& run) {
  bool has_begun = false;
  const auto work = [&] {
    try {
      reserve_short(bytes_of(sort), stream);
    } catch (const out_of_memory&) {
      // Memory for buckets or counts, which the wait is for, is a wish.
      sort.may_wait = false;
      sort.has_wishes = false;
      reserve_short(bytes_of(sort), stream);
    }
    has_begun = true;
    run(sort);
  };
  sorting::run_telling_state(
      work, [&] { return has_begun; }, name);
}

void resident_sorter::state::sort_short(const device::record_shape& shape, const shard& only) {
  const int gpu = devices.gpus[0];
  run_short(
      "sort", {.shape = shape, .num_records = only.num_keys, .may_wait = true, .hooks = options.hooks}, only.stream,
      [&](const sorting::gpu_sort& sort) { return sorting::gpu_sort_bytes_on(gpu, sort); },
      [&](const sorting::gpu_sort& sort) {
        sorting::run_gpu_sort(gpu, sort, {only.keys, only.values}, short_workspace.data(), only.stream);
      });
}

void resident_sorter::state::argsort_short(const device::record_shape& shape, const shard& only) {
  const int gpu = devices.gpus[0];
  run_short(
      "argsort", {.shape = shape, .num_records = only.num_keys, .may_wait = true, .hooks = options.hooks}, only.stream,
      [&](const sorting::gpu_sort& sort) { return sorting::gpu_argsort_bytes_on(gpu, sort); },
      [&](const sorting::gpu_sort& sort) {
        sorting::run_gpu_argsort(gpu, sort, only.keys, only.values, short_workspace.data(), only.stream);
      });
}

void resident_sorter::state::require_fit(std::size_t num_shards) const {
  if (algorithm.is.uses_all_devices || num_shards == 1) return;
  throw invalid_argument(fmt::format("algorithm {} sorts one shard, not {}", algorithm.name, num_shards));
}

algorithms::choice resident_sorter::state::reserve(const algorithms::problem& problem) {
  short_workspace = {};
  algorithms::check_part_capacities(problem, ranks, options);
  algorithms::choice chosen = algorithms::choose(algorithm, ranks, options, problem);
  chosen.workspace.insert(chosen.workspace.end(), problem.callers_wishes.begin(), problem.callers_wishes.end());
  algorithms::reserve_workspace(ranks, problem.shape, chosen.workspace, 0, options.memory_limit_bytes,
                                options.device_memory_bytes);
  return chosen;
}

void resident_sorter::state::run(const algorithms::choice& chosen, const algorithms::problem& problem,
                                 std::span<const shard> shards, const sorting::operation& what, sort_report& report) {
  for (std::size_t i = 0; i < shards.size(); ++i) ranks[i].queue->wait_for_stream(shards[i].stream);
  base::with_threads(options.threads,
                     [&] { sorting::run_reported(chosen, ranks, options, problem, what, {}, report); });
}

void resident_sorter::state::sort(const device::record_shape& shape, std::span<shard> shards, shard_sizes sizes) {
  const sorting::gpu_call call(devices, options.hooks);
  sorting::check_shards(ranks, shape, shards);
  require_fit(shards.size());
  if (allows_short_way()) return sort_short(shape, shards[0]);
  const algorithms::problem problem = problem_of(shape, shards, sizes);
  const algorithms::choice chosen = reserve(problem);
  sort_report unseen;
  sort_report& report = options.report == nullptr ? unseen : *options.report;
  run(chosen, problem, shards, {.name = shape.value_bytes == 0 ? "sort" : "sort_pairs"}, report);
  for (std::size_t i = 0; i < shards.size(); ++i) shards[i].num_keys = report.ranks[i].num_keys_out;
}

void resident_sorter::state::argsort(const device::record_shape& shape, std::span<const shard> shards) {
  require_fit(shards.size());
  if (allows_short_way()) return argsort_short(shape, shards[0]);
  const unsigned width = shape.codec.width_bytes();
  algorithms::problem problem = problem_of(shape, shards, shard_sizes::as_given);
  problem.is_disposable = true;  // the indices of a call that throws are unspecified
  for (unsigned i = 0; i < shards.size(); ++i) {
    const std::uint64_t num_records = base::ceil_div(shards[i].num_keys * width, std::uint64_t{shape.bytes()});
    problem.callers_wishes.push_back({.rank = i, .slot = algorithms::callers_slot, .num_records = num_records});
  }
  const algorithms::choice chosen = reserve(problem);
  std::vector<algorithms::resident_part>& parts = std::get<algorithms::resident_input>(problem.input).parts;
  for (const algorithms::slot_request& copy : problem.callers_wishes) {
    parts[copy.rank].data.keys = algorithms::slot_records(ranks[copy.rank], copy.slot, shape, copy.num_records).keys;
  }
  const auto make_records = [&] {
    std::uint64_t first = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const algorithms::resident_part& part = parts[i];
      ranks[i].queue->copy(part.data.keys, shards[i].keys, part.num_keys * width, "copy keys");
      ranks[i].queue->write_positions({part.data.values, shape.value_bytes, part.num_keys, first});
      first += part.num_keys;
    }
  };
  sort_report unseen;
  run(chosen, problem, shards, {.name = "argsort", .make_records = make_records},
      options.report == nullptr ? unseen : *options.report);
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

void resident_sorter::argsort(const_sharded_keys keys, std::span<void* const> indices, std::uint64_t index_bytes,
                              direction d) {
  const sorting::gpu_call call(state_->devices, state_->options.hooks);
  const std::vector<shard> shards = sorting::argsort_shards(state_->ranks, keys, indices, index_bytes);
  const keys::key_codec codec{keys.type, keys::is_descending(d), keys::tie_rule::by_input_order};
  state_->argsort({codec, static_cast<unsigned>(index_bytes)}, shards);
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

void argsort(const_sharded_keys keys, std::span<void* const> indices, std::uint64_t index_bytes, direction d,
             const sort_options& options) {
  resident_sorter(options).argsort(keys, indices, index_bytes, d);
}

void argsort(const_sharded_keys keys, std::span<void* const> indices, std::uint64_t index_bytes,
             const sort_options& options) {
  argsort(keys, indices, index_bytes, direction::ascending, options);
}

bool is_sorted(const_sharded_keys keys, direction d, const sort_options& options) {
  return resident_sorter(options).is_sorted(keys, d);
}

bool is_sorted(const_sharded_keys keys, const sort_options& options) {
  return is_sorted(keys, direction::ascending, options);
}

}  // namespace spansort
