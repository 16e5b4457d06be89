// SPDX-License-Identifier: Apache-2.0
// A sorter leads from arguments to a driver: it checks them, opens devices, runs, fills the report.
#include <functional>

#include "algorithms/registry.hpp"
#include "base/call_watch.hpp"
#include "base/math.hpp"
#include "base/threads.hpp"
#include "device/copy_parallel.hpp"
#include "device/host/small_pairs.hpp"
#include "device/host/small_sort.hpp"
#include "sort/arguments.hpp"
#include "sort/choose_devices.hpp"
#include "sort/flowing_calls.hpp"
#include "sort/gpu_devices.hpp"
#include "sort/kept_ranks.hpp"
#include "sort/new_memory.hpp"
#include "sort/open_devices.hpp"
#include "sort/rates.hpp"
#include "sort/run_reported.hpp"
#include "sort/short_way.hpp"
#include "sort/values.hpp"
#include "spansort/sort.hpp"

namespace spansort {
namespace {

void* at(void* base, std::uint64_t offset) { return static_cast<char*>(base) + offset; }
const void* at(const void* base, std::uint64_t offset) { return static_cast<const char*>(base) + offset; }

/// A call takes two arrays of scratch at most.
constexpr std::uint64_t most_scratch_arrays = 2;
constexpr std::uint64_t scratch_alignment_bytes = 4096;

}  // namespace

struct sorter::state {
  explicit state(sort_options sorter_options)
      : options(algorithms::settings_of(std::move(sorter_options))),
        devices(sorting::resolve_devices(options.devices)),
        algorithm(algorithms::find_algorithm(name(options.algorithm))),
        allows_short_way(!base::has_test_hooks() && sorting::allow_short_way(options)) {
    sorting::check_tuning(options.tuning);
    sorting::check_hooks(options.hooks);
    static_cast<void>(base::resolve_threads(options.threads));
  }
  state(const state&) = delete;
  state& operator=(const state&) = delete;
  ~state() {
    if (leaves_ranks) sorting::keep_ranks(kind_of_kept, std::move(ranks));
  }

  /// Has it take its host ranks from those that the process keeps, and leave them there after calls that went well,
  /// where they are what every caller would open, and nobody has set a limit to memory or wants a report.
  void share_ranks() {
    shares_ranks = options.devices.what() != device_list::kind::host && devices.gpus.empty() && devices.count <= 1 &&
                   options.memory_limit_bytes == 0 && options.device_memory_bytes == 0 && options.report == nullptr &&
                   options.hooks == base::test_hooks();
  }

  /// Lets `sort`, which says whether it did, take the short way of small arrays, unless GPUs that are open are faster.
  template <class Sort>
  bool take_short_way(const device::record_shape& shape, std::uint64_t num_keys, const Sort& sort);
  /// Chooses the devices that this call will use; opens none.
  [[nodiscard]] const sorting::device_set& choose_devices(const device::record_shape& shape, std::uint64_t num_keys,
                                                          bool is_arriving = false);
  /// Opens what was chosen, chooses the algorithm on it and takes its workspace, or throws out_of_memory with nothing
  /// touched. `scratch_bytes` is what the caller will take by scratch().
  void reserve(const algorithms::problem& problem, std::uint64_t scratch_bytes);
  /// Host memory beside the driver's workspace, for one call.
  struct call_scratch {
    device::buffer own;  ///< empty where the memory is that of a kept rank
    void* memory = nullptr;

    [[nodiscard]] void* data() const noexcept { return memory; }
  };
  [[nodiscard]] call_scratch scratch(std::uint64_t size_bytes);
  /// Sorts in place what has been reserved for, by the algorithm chosen then. `place_values` as in run_reported().
  void run(const algorithms::problem& problem, std::string_view name,
           const std::function<void(base::stop_rule)>& place_values = {});
  /// Adds what this call's choice has missed to what was missed before.
  void remember_missed();

  /// The calls of that name; `flow` may be null.
  void sort(key_span keys, direction d, base::record_flow* flow);
  void argsort(const_key_span keys, void* indices, std::uint64_t index_bytes, direction d, base::record_flow* flow);
  void sort_with_index(const algorithms::problem& problem, void* values, std::uint64_t value_bytes);
  void sort_widened(const algorithms::problem& problem, void* values, std::uint64_t value_bytes);

 private:
  std::vector<algorithms::rank>& the_calling_thread();
  std::vector<algorithms::rank>& open_chosen();
  void reserve_chosen(const algorithms::problem& problem, std::uint64_t scratch_bytes);
  void reserve_at_once(const algorithms::problem& problem, std::uint64_t scratch_bytes);
  [[nodiscard]] sorting::allocation_hook allocation_hook() {
    return sorting::failing_allocations(options.hooks, num_allocations);
  }

 public:
  algorithms::sort_settings options;
  sorting::device_set devices;
  const algorithms::entry& algorithm;  ///< asked for
  bool allows_short_way = false;       ///< of small arrays of keys alone
  bool is_disposable = false;          ///< as in algorithms::problem
  bool shares_ranks = false;           ///< with later calls of the process
  bool leaves_ranks = false;           ///< they are idle, and can be left to these
  sorting::rank_kind kind_of_kept;     ///< of those
  std::uint64_t num_allocations = 0;
  std::uint64_t call_scratch_bytes = 0;           ///< of the current call
  bool has_kept_scratch = false;                  ///< the current call, in a slot of its host ranks
  std::uint64_t kept_scratch_taken = 0;           ///< of that
  bool has_new_memory = false;                    ///< of the current call
  sorting::device_choice on;                      ///< where the current call sorts
  double missed_s = 0;                            ///< by sorts on the CPU that open GPUs would have done faster
  std::vector<algorithms::rank>* used = nullptr;  ///< by the current call
  algorithms::choice chosen;                      ///< on them
  // Opened when first needed.
  std::vector<algorithms::rank> calling_thread;  ///< one rank
  std::vector<algorithms::rank> ranks;           ///< those of the device list; of "auto", the CPU's
  std::vector<algorithms::rank> gpu_ranks;       ///< of "auto", as many as were chosen last
};

const sorting::device_set& sorter::state::choose_devices(const device::record_shape& shape, std::uint64_t num_keys,
                                                         bool is_arriving) {
  const sorting::sort_demand demand{
      .num_keys = num_keys,
      .input_bytes = num_keys * shape.bytes(),
      .is_arriving = is_arriving,
      .inline_keys =
          device::host::inline_keys(sorting::host_limits(options.hooks), shape.codec.width_bytes(), shape.value_bytes),
      .memory_limit_bytes = options.memory_limit_bytes,
      .device_memory_bytes = options.device_memory_bytes,
      .held_gpu_bytes = gpu_ranks.empty() ? 0 : algorithms::held_device_bytes(gpu_ranks.front()),
      .gpus_are_open = !gpu_ranks.empty(),
      .missed_s = missed_s,
      .algorithm = algorithm.is};
  on = sorting::choose_devices(devices, demand, sorting::this_machine(options.threads));
  return on.list;
}

void sorter::state::remember_missed() {
  missed_s = on.gpus_refused ? 0 : missed_s + on.missed_s;
  sorting::remember_missed(on);
}

template <class Sort>
bool sorter::state::take_short_way(const device::record_shape& shape, std::uint64_t num_keys, const Sort& sort) {
  if (!allows_short_way) return false;
  if (!devices.is_auto || num_keys * shape.bytes() <= sorting::rates.least_trip_bytes) return sort();
  if (!choose_devices(shape, num_keys).gpus.empty() || !sort()) return false;
  remember_missed();
  return true;
}

std::vector<algorithms::rank>& sorter::state::the_calling_thread() {
  if (calling_thread.empty()) {
    calling_thread.push_back(algorithms::make_rank(sorting::open_calling_thread(options.hooks, allocation_hook())));
  }
  return calling_thread;
}

std::vector<algorithms::rank>& sorter::state::open_chosen() {
  if (on.on_calling_thread()) return the_calling_thread();
  std::vector<algorithms::rank>& kept = devices.is_auto && !on.list.gpus.empty() ? gpu_ranks : ranks;
  if (&kept == &gpu_ranks && kept.size() != on.list.gpus.size()) kept.clear();
  const bool are_shared = shares_ranks && &kept == &ranks;
  if (kept.empty() && are_shared) {
    kind_of_kept = sorting::kind_of_ranks(base::resolve_threads(options.threads), !algorithm.is.uses_all_devices);
    kept = sorting::take_kept_ranks(kind_of_kept);
  }
  if (kept.empty()) {
    kept = sorting::open_ranks(on.list, {.across_nodes = !algorithm.is.uses_all_devices,
                                         .hooks = options.hooks,
                                         // A hook counts for one sorter.
                                         .hook = are_shared ? sorting::allocation_hook() : allocation_hook(),
                                         .gpu_memory = options.gpu_memory,
                                         .threads = options.threads});
  }
  return kept;
}

void sorter::state::reserve(const algorithms::problem& problem, std::uint64_t scratch_bytes) {
  try {
    reserve_chosen(problem, scratch_bytes);
  } catch (const error& failure) {
    if (!devices.is_auto || on.list.gpus.empty()) throw;
    // Nobody asked for GPUs: what they refuse, the CPU may still do.
    gpu_ranks.clear();
    on = {.list = {},
          .has_few_keys = on.has_few_keys,
          .gpus_refused = true,
          .why = std::string("on the CPU, for the GPUs could not be used: ") + failure.what()};
    reserve_chosen(problem, scratch_bytes);
  }
}

void sorter::state::reserve_chosen(const algorithms::problem& problem, std::uint64_t scratch_bytes) {
  try {
    reserve_at_once(problem, scratch_bytes);
  } catch (const out_of_memory&) {
    // What earlier calls have left may be what is missing, unless a limit is.
    if (options.memory_limit_bytes != 0 || options.device_memory_bytes != 0 || options.hooks.fail_allocation_at != 0) {
      throw;
    }
    const bool has_released = sorting::release_kept_ranks();
    if (!has_released && (!shares_ranks || algorithms::held_bytes(ranks) == 0)) throw;
    algorithms::release(ranks);
    reserve_at_once(problem, scratch_bytes);
  }
}

void sorter::state::reserve_at_once(const algorithms::problem& problem, std::uint64_t scratch_bytes) {
  used = &open_chosen();
  if (options.memory_limit_bytes != 0) {
    // Memory that other ranks keep from earlier calls would count too.
    for (std::vector<algorithms::rank>* others : {&calling_thread, &ranks, &gpu_ranks}) {
      if (others != used) algorithms::release(*others);
    }
  }
  call_scratch_bytes = scratch_bytes;
  chosen = algorithms::choose(algorithm, *used, options, problem);
  // Where several NUMA nodes have a rank each, scratch belongs to all of them.
  has_kept_scratch = scratch_bytes != 0 && shares_ranks && used == &ranks && ranks.size() == 1;
  if (has_kept_scratch) {
    const std::uint64_t with_padding = scratch_bytes + most_scratch_arrays * scratch_alignment_bytes;
    chosen.workspace.push_back({.rank = 0,
                                .slot = algorithms::callers_slot,
                                .num_records = base::ceil_div(with_padding, std::uint64_t{problem.shape.bytes()}),
                                .on_host = true});
    call_scratch_bytes = scratch_bytes = kept_scratch_taken = 0;
  }
  const std::uint64_t held_before = algorithms::held_bytes(*used);
  algorithms::reserve_workspace(*used, problem.shape, chosen.workspace, scratch_bytes, options.memory_limit_bytes,
                                options.device_memory_bytes);
  has_new_memory = algorithms::held_bytes(*used) != held_before;
}

sorter::state::call_scratch sorter::state::scratch(std::uint64_t size_bytes) {
  if (!has_kept_scratch) {
    device::buffer own = the_calling_thread().front().device->allocate(size_bytes);
    void* const memory = own.data();
    return {std::move(own), memory};
  }
  void* const memory = at(ranks.front().host_slots[algorithms::callers_slot].data(), kept_scratch_taken);
  kept_scratch_taken += base::round_up(size_bytes, scratch_alignment_bytes);
  return {{}, memory};
}

void sorter::state::run(const algorithms::problem& problem, std::string_view name,
                        const std::function<void(base::stop_rule)>& place_values) {
  remember_missed();
  if (has_new_memory && options.on_progress) sorting::touch_new_memory(*used, problem, options.on_progress);
  if (problem.flow != nullptr && !chosen.algorithm->is.awaits_records) problem.flow->wait_for(problem.num_keys);
  sort_report unseen;
  sort_report& report = options.report == nullptr ? unseen : *options.report;
  leaves_ranks = false;
  sorting::run_reported(chosen, *used, options, problem, {name, call_scratch_bytes, on.why}, place_values, report);
  leaves_ranks = shares_ranks && !ranks.empty();
}

sorter::sorter(sort_options options) : state_(std::make_unique<state>(std::move(options))) {}
sorter::~sorter() = default;
sorter::sorter(sorter&&) noexcept = default;
sorter& sorter::operator=(sorter&&) noexcept = default;

void sorter::sort_keys(key_type type, void* keys, std::uint64_t num_keys, direction d) {
  if (state_->allows_short_way && device::host::sort_smallest(type, keys, num_keys, d)) return;
  const key_span all{type, keys, num_keys};
  const device::record_shape shape{{type, keys::is_descending(d), keys::tie_rule::by_bits}, 0};
  const unsigned threads = state_->options.threads;
  const auto sort = [&] {
    return sorting::sort_short(all, d, threads) || sorting::sort_repeats(all, d, threads, false);
  };
  if (!state_->take_short_way(shape, num_keys, sort)) state_->sort(all, d, nullptr);
}

void sorting::flowing_calls::dispose(sorter& own) { own.state_->is_disposable = true; }
void sorting::flowing_calls::share_ranks(sorter& own) { own.state_->share_ranks(); }

void sorting::flowing_calls::sort(sorter& own, key_span keys, direction d, base::record_flow& flow) {
  own.state_->sort(keys, d, &flow);
}

void sorter::state::sort(key_span keys, direction d, base::record_flow* flow) {
  sorting::check_keys(keys);
  const keys::key_codec codec{keys.type, keys::is_descending(d), keys::tie_rule::by_bits};
  const sorting::gpu_call call(choose_devices({codec, 0}, keys.num_keys, flow != nullptr), options.hooks);
  const algorithms::problem problem{.shape = {codec, 0},
                                    .input = device::records{keys.data, nullptr},
                                    .num_keys = keys.num_keys,
                                    .flow = flow,
                                    .is_disposable = is_disposable};
  base::with_threads(options.threads, [&] {
    reserve(problem, 0);
    run(problem, "sort");
  });
}

void sorter::sort_records(key_type type, void* keys_data, void* values, std::uint64_t num_keys,
                          std::uint64_t value_bytes, direction d) {
  if (state_->allows_short_way &&
      device::host::sort_smallest_pairs(type, keys_data, values, value_bytes, num_keys, d)) {
    return;
  }
  const key_span keys{type, keys_data, num_keys};
  const keys::key_codec codec{keys.type, keys::is_descending(d), keys::tie_rule::by_input_order};
  const unsigned value_bytes_to_move =
      value_bytes > 16 ? sizeof(std::uint64_t) : sorting::travelling_width(value_bytes);
  const device::record_shape moved{codec, value_bytes_to_move};
  const auto sort = [&] { return sorting::sort_pairs_short(keys, values, value_bytes, d, state_->options.threads); };
  if (state_->take_short_way(moved, keys.num_keys, sort)) return;
  sorting::check_keys(keys);
  sorting::check_values(keys, values, value_bytes);
  algorithms::problem problem{.shape = {codec, 0},
                              .input = device::records{keys.data, nullptr},
                              .num_keys = keys.num_keys,
                              .is_disposable = state_->is_disposable};
  const sorting::gpu_call call(state_->choose_devices(moved, keys.num_keys), state_->options.hooks);
  base::with_threads(state_->options.threads, [&] {
    if (value_bytes > 16) return state_->sort_with_index(problem, values, value_bytes);
    const unsigned width = sorting::travelling_width(value_bytes);
    problem.shape.value_bytes = width;
    if (width != value_bytes) return state_->sort_widened(problem, values, value_bytes);
    problem.data().values = values;
    state_->reserve(problem, 0);
    state_->run(problem, "sort_pairs");
  });
}

void sorter::order_keys(key_type type, const void* keys_data, void* indices, std::uint64_t num_keys,
                        std::uint64_t index_bytes, direction d) {
  if (state_->allows_short_way && device::host::argsort_smallest(type, keys_data, indices, index_bytes, num_keys, d)) {
    return;
  }
  const const_key_span keys{type, keys_data, num_keys};
  const keys::key_codec codec{keys.type, keys::is_descending(d), keys::tie_rule::by_input_order};
  const auto sort = [&] {
    return sorting::argsort_short(keys, indices, index_bytes, d, state_->options.threads, false);
  };
  if (!state_->take_short_way({codec, static_cast<unsigned>(index_bytes)}, keys.num_keys, sort)) {
    state_->argsort(keys, indices, index_bytes, d, nullptr);
  }
}

void sorting::flowing_calls::argsort(sorter& own, const_key_span keys, void* indices, direction d,
                                     base::record_flow& flow) {
  own.state_->argsort(keys, indices, sizeof(std::uint64_t), d, &flow);
}

void sorter::state::argsort(const_key_span keys, void* indices, std::uint64_t index_bytes, direction d,
                            base::record_flow* flow) {
  sorting::check_keys(keys);
  sorting::check_indices(keys, indices, index_bytes);
  const keys::key_codec codec{keys.type, keys::is_descending(d), keys::tie_rule::by_input_order};
  algorithms::problem problem{.shape = {codec, static_cast<unsigned>(index_bytes)},
                              .input = device::records{nullptr, indices},
                              .num_keys = keys.num_keys,
                              .flow = flow,
                              .is_disposable = flow == nullptr};  // the indices of a call that throws are unspecified
  const sorting::gpu_call call(choose_devices(problem.shape, keys.num_keys), options.hooks);
  const std::uint64_t keys_bytes = keys.num_keys * size_bytes(keys.type);
  reserve(problem, keys_bytes);
  const call_scratch copy = scratch(keys_bytes);
  base::with_threads(options.threads, [&] {
    const base::call_watch watch(options.on_progress);
    const std::uint64_t width = size_bytes(keys.type);
    watch.in_parts(keys.num_keys, width + index_bytes, [&](std::uint64_t begin, std::uint64_t count) {
      device::copy_parallel(at(copy.data(), begin * width), at(keys.data, begin * width), count * width);
      sorting::write_indices(at(indices, begin * index_bytes), index_bytes, count, begin);
    });
    problem.data().keys = copy.data();
    run(problem, "argsort");
  });
}

/// Values wider than 16 bytes: an index travels, the values are gathered once.
void sorter::state::sort_with_index(const algorithms::problem& keys, void* values, std::uint64_t value_bytes) {
  algorithms::problem problem = keys;
  problem.shape.value_bytes = sizeof(std::uint64_t);
  reserve(problem, keys.num_keys * (sizeof(std::uint64_t) + value_bytes));
  const call_scratch indices = scratch(keys.num_keys * sizeof(std::uint64_t));
  const call_scratch gathered = scratch(keys.num_keys * value_bytes);
  auto* const all_indices = static_cast<std::uint64_t*>(indices.data());
  const base::call_watch early(options.on_progress);
  early.in_parts(keys.num_keys, sizeof(std::uint64_t), [&](std::uint64_t begin, std::uint64_t count) {
    sorting::write_indices(all_indices + begin, sizeof(std::uint64_t), count, begin);
  });
  problem.data().values = indices.data();
  run(problem, "sort_pairs", [&](base::stop_rule rule) {
    const base::call_watch watch(options.on_progress, "gather", 1, rule);
    watch.in_parts(keys.num_keys, value_bytes, [&](std::uint64_t begin, std::uint64_t count) {
      sorting::gather(at(gathered.data(), begin * value_bytes), values, all_indices + begin, count, value_bytes);
    });
    watch.in_parts(keys.num_keys, value_bytes, [&](std::uint64_t begin, std::uint64_t count) {
      const std::uint64_t offset = begin * value_bytes;
      device::copy_parallel(at(values, offset), at(gathered.data(), offset), count * value_bytes);
    });
    watch.raise_late();
  });
}

/// Values of 1 to 15 bytes that no kernel moves as they are: travel widened.
void sorter::state::sort_widened(const algorithms::problem& keys, void* values, std::uint64_t value_bytes) {
  algorithms::problem problem = keys;
  const unsigned width = problem.shape.value_bytes;
  reserve(problem, keys.num_keys * width);
  const call_scratch wide = scratch(keys.num_keys * width);
  const auto repack_in_parts = [&](const base::call_watch& watch, void* to, std::uint64_t to_bytes, const void* from,
                                   std::uint64_t from_bytes) {
    watch.in_parts(keys.num_keys, width, [&](std::uint64_t begin, std::uint64_t count) {
      sorting::repack(at(to, begin * to_bytes), to_bytes, at(from, begin * from_bytes), from_bytes, count);
    });
  };
  repack_in_parts(base::call_watch(options.on_progress), wide.data(), width, values, value_bytes);
  problem.data().values = wide.data();
  run(problem, "sort_pairs", [&](base::stop_rule rule) {
    const base::call_watch watch(options.on_progress, "gather", 1, rule);
    repack_in_parts(watch, values, value_bytes, wide.data(), width);
    watch.raise_late();
  });
}

std::uint64_t sorter::workspace_bytes() const noexcept {
  return algorithms::held_bytes(state_->calling_thread) + algorithms::held_bytes(state_->ranks) +
         algorithms::held_bytes(state_->gpu_ranks);
}

void sorter::release_workspace() {
  algorithms::release(state_->calling_thread);
  algorithms::release(state_->ranks);
  algorithms::release(state_->gpu_ranks);
}

}  // namespace spansort
