// SPDX-License-Identifier: Apache-2.0
// From arguments to a driver: checks them, opens devices, runs, fills the report.
#include <chrono>
#include <functional>

#include "algorithms/registry.hpp"
#include "api/arguments.hpp"
#include "api/device_list.hpp"
#include "api/values.hpp"
#include "report/phases.hpp"
#include "spansort/sort.hpp"

namespace spansort {

struct sorter::state {
  explicit state(sort_options sorter_options)
      : options(std::move(sorter_options)),
        devices(api::parse_device_list(options.devices)),
        algorithm(algorithms::find_algorithm(options.algorithm)) {
    api::check_tuning(options.tuning);
  }

  /// Takes the driver's workspace, or throws out_of_memory with nothing touched. `scratch_bytes` is what the caller
  /// will take by scratch().
  void reserve(const algorithms::problem& problem, std::uint64_t scratch_bytes);
  /// Memory beside the driver's workspace, for one call.
  [[nodiscard]] device::buffer scratch(std::uint64_t size_bytes) {
    return ranks_for(0).front().device->allocate(size_bytes);
  }
  /// Sorts in place what has been reserved for; the report's operation says for whom. `place_values`, where given, moves
  /// what did not travel with the keys; the sort is complete only then.
  void run(const algorithms::problem& problem, std::string_view operation,
           const std::function<void()>& place_values = {});

  /// Whether the calling thread is the fastest device: few keys, and nobody asked for several devices.
  [[nodiscard]] bool is_for_calling_thread(std::uint64_t num_keys) const {
    return devices.count <= 1 && options.algorithm != "rmg" && num_keys <= api::host_limits(options.tuning).inline_keys;
  }

  std::vector<algorithms::rank>& ranks_for(std::uint64_t num_keys);

  void sort_with_index(const algorithms::problem& problem, void* values, std::uint64_t value_bytes);
  void sort_widened(const algorithms::problem& problem, void* values, std::uint64_t value_bytes);

  sort_options options;
  api::device_list devices;
  const algorithms::entry& algorithm;
  std::uint64_t num_allocations = 0;
  std::uint64_t call_scratch_bytes = 0;          ///< of the current call
  std::vector<algorithms::rank> calling_thread;  ///< one rank, opened when first needed
  std::vector<algorithms::rank> ranks;           ///< those of the device list, opened when first needed
};

std::vector<algorithms::rank>& sorter::state::ranks_for(std::uint64_t num_keys) {
  const api::allocation_hook hook = [this](std::uint64_t size_bytes) {
    if (++num_allocations == options.tuning.fail_allocation_at) {
      throw out_of_memory("an allocation was made to fail (tuning.fail_allocation_at)", size_bytes, 0);
    }
  };
  if (is_for_calling_thread(num_keys)) {
    if (calling_thread.empty()) {
      calling_thread.push_back(algorithms::make_rank(api::open_calling_thread(options.tuning, hook)));
    }
    return calling_thread;
  }
  if (ranks.empty()) ranks = api::open_ranks(devices, {options.algorithm == "single", options.tuning, hook});
  return ranks;
}

void sorter::state::reserve(const algorithms::problem& problem, std::uint64_t scratch_bytes) {
  std::vector<algorithms::rank>& used = ranks_for(problem.num_keys);
  if (options.memory_limit_bytes != 0) {
    // What other ranks keep from earlier calls would count too.
    algorithms::release(&used == &ranks ? calling_thread : ranks);
  }
  call_scratch_bytes = scratch_bytes;
  algorithms::reserve_workspace(used, problem.shape, algorithm.workspace(used, options, problem), scratch_bytes,
                                options.memory_limit_bytes);
}

void sorter::state::run(const algorithms::problem& problem, std::string_view operation,
                        const std::function<void()>& place_values) {
  sort_report unseen;
  sort_report& report = options.report == nullptr ? unseen : *options.report;
  report = {};
  report.operation = operation;
  report.key_type = name(problem.shape.codec.type);
  report.descending = problem.shape.codec.descending;
  report.num_keys = problem.num_keys;
  report.value_bytes = problem.shape.value_bytes;
  const auto begin = std::chrono::steady_clock::now();
  std::vector<algorithms::rank>& used = ranks_for(problem.num_keys);
  for (unsigned i = 0; i < used.size(); ++i)
    report.ranks.push_back(api::describe(*used[i].device, i, used.size(), problem));
  {
    algorithms::run_context context(used, options, report);
    context.begin();
    algorithm.run(context, problem);
    if (place_values) place_values();
    context.finish();  // last: here an exception of the progress callback surfaces
  }
  report.workspace_bytes = algorithms::held_bytes(used) + call_scratch_bytes;
  if (report.picked.empty()) report.picked = report.algorithm + ": asked for";
  report::summarize_timeline(report);
  report.elapsed_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

sorter::sorter(sort_options options) : state_(std::make_unique<state>(std::move(options))) {}
sorter::~sorter() = default;
sorter::sorter(sorter&&) noexcept = default;
sorter& sorter::operator=(sorter&&) noexcept = default;

void sorter::sort(key_span keys) {
  api::check_keys(keys);
  const keys::key_codec codec{keys.type, state_->options.descending, keys::tie_rule::by_bits};
  const algorithms::problem problem{{codec, 0}, {keys.data, nullptr}, keys.num_keys};
  state_->reserve(problem, 0);
  state_->run(problem, "sort");
}

void sorter::sort_pairs(key_span keys, void* values, std::uint64_t value_bytes) {
  api::check_keys(keys);
  api::check_values(keys, values, value_bytes);
  const keys::key_codec codec{keys.type, state_->options.descending, keys::tie_rule::by_input_order};
  algorithms::problem problem{{codec, 0}, {keys.data, nullptr}, keys.num_keys};
  if (value_bytes > 16) return state_->sort_with_index(problem, values, value_bytes);
  const unsigned width = api::travelling_width(value_bytes);
  problem.shape.value_bytes = width;
  if (width != value_bytes) return state_->sort_widened(problem, values, value_bytes);
  problem.data.values = values;
  state_->reserve(problem, 0);
  state_->run(problem, "sort_pairs");
}

void sorter::argsort(const_key_span keys, void* indices, std::uint64_t index_bytes) {
  api::check_keys(keys);
  api::check_indices(keys, indices, index_bytes);
  const keys::key_codec codec{keys.type, state_->options.descending, keys::tie_rule::by_input_order};
  algorithms::problem problem{{codec, static_cast<unsigned>(index_bytes)}, {nullptr, indices}, keys.num_keys};
  const std::uint64_t keys_bytes = keys.num_keys * size_bytes(keys.type);
  state_->reserve(problem, keys_bytes);
  const device::buffer copy = state_->scratch(keys_bytes);
  api::copy_parallel(copy.data(), keys.data, keys_bytes);
  api::write_indices(indices, index_bytes, keys.num_keys);
  problem.data.keys = copy.data();
  state_->run(problem, "argsort");
}

/// Values wider than 16 bytes: an index travels, the values are gathered once.
void sorter::state::sort_with_index(const algorithms::problem& keys, void* values, std::uint64_t value_bytes) {
  algorithms::problem problem = keys;
  problem.shape.value_bytes = sizeof(std::uint64_t);
  reserve(problem, keys.num_keys * (sizeof(std::uint64_t) + value_bytes));
  const device::buffer indices = scratch(keys.num_keys * sizeof(std::uint64_t));
  const device::buffer gathered = scratch(keys.num_keys * value_bytes);
  api::write_indices(indices.data(), sizeof(std::uint64_t), keys.num_keys);
  problem.data.values = indices.data();
  run(problem, "sort_pairs", [&] {
    api::gather(gathered.data(), values, static_cast<const std::uint64_t*>(indices.data()), keys.num_keys, value_bytes);
    api::copy_parallel(values, gathered.data(), keys.num_keys * value_bytes);
  });
}

/// Values of 1 to 15 bytes that no kernel moves as they are: travel widened.
void sorter::state::sort_widened(const algorithms::problem& keys, void* values, std::uint64_t value_bytes) {
  algorithms::problem problem = keys;
  const unsigned width = problem.shape.value_bytes;
  reserve(problem, keys.num_keys * width);
  const device::buffer wide = scratch(keys.num_keys * width);
  api::repack(wide.data(), width, values, value_bytes, keys.num_keys);
  problem.data.values = wide.data();
  run(problem, "sort_pairs", [&] { api::repack(values, value_bytes, wide.data(), width, keys.num_keys); });
}

std::uint64_t sorter::workspace_bytes() const noexcept {
  return algorithms::held_bytes(state_->calling_thread) + algorithms::held_bytes(state_->ranks);
}

void sorter::release_workspace() {
  algorithms::release(state_->calling_thread);
  algorithms::release(state_->ranks);
}

}  // namespace spansort
