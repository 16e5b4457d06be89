// SPDX-License-Identifier: Apache-2.0
// This file leads from arguments on every node rank to one driver run by all: agrees on settings, sizes and memory,
// then sorts.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>

#include "algorithms/rmg_state.hpp"
#include "base/names.hpp"
#include "base/threads.hpp"
#include "device/copy_parallel.hpp"
#include "mpi/algorithms/cluster_algorithms.hpp"
#include "mpi/fetch_values.hpp"
#include "mpi/session_state.hpp"
#include "mpi/transport/mpi_exchange.hpp"
#include "mpi/transport/mpi_handle.hpp"
#include "mpi/transport/nccl_exchange.hpp"
#include "sort/arguments.hpp"
#include "sort/gpu_devices.hpp"
#include "sort/open_devices.hpp"
#include "sort/run_reported.hpp"
#include "sort/values.hpp"
#include "spansort/version.hpp"
#include "transport/routed_exchange.hpp"

namespace spansort::mpi {
namespace {

constexpr std::chrono::milliseconds least_heartbeat_timeout{100};

transport::group_options group_options_of(const options& given) {
  transport::group_options group;
  // A shorter one is refused once the node ranks have met: until then they must hear of each other.
  if (given.heartbeat_timeout >= least_heartbeat_timeout) group.watch.heartbeat_timeout = given.heartbeat_timeout;
  group.on_phase = given.on_phase;
  if (given.on_failure) {
    group.watch.on_failure = [tell = given.on_failure](const transport::node_failure& f) {
      tell({f.node_rank, f.phase, f.message()});
    };
  }
  return group;
}

/// Returns what the room algorithms/ looks at.
algorithms::sort_settings settings_of(const options& given) {
  sort_options sort{.devices = given.devices,
                    .threads = given.threads,
                    .memory_limit_bytes = given.memory_limit_bytes,
                    .report = given.report,
                    .tuning = given.tuning};
  return algorithms::settings_of(std::move(sort));
}

void check(const options& given, const algorithms::cluster_entry& algorithm) {
  sorting::check_tuning(given.tuning, algorithm.most_radix_bits);
  sorting::check_hooks(base::current_test_hooks());
  if (given.heartbeat_timeout < least_heartbeat_timeout) {
    throw invalid_argument(fmt::format("heartbeat_timeout of {} ms: expected {} ms at least",
                                       given.heartbeat_timeout.count(), least_heartbeat_timeout.count()));
  }
  if (given.message_bytes < 1 || given.message_bytes > std::uint64_t{1} << 30) {
    throw invalid_argument(fmt::format("message_bytes {}: expected 1 to 2^30", given.message_bytes));
  }
}

unsigned processes_of_this_machine(MPI_Comm communicator) {
  MPI_Comm here = MPI_COMM_NULL;
  int count = 1;
  if (MPI_Comm_split_type(communicator, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here) != MPI_SUCCESS) return 1;
  MPI_Comm_size(here, &count);
  MPI_Comm_free(&here);
  return static_cast<unsigned>(count);
}

/// What a node rank tells the others before a sort.
struct introduction {
  std::uint64_t num_devices = 0;
  std::uint64_t num_keys = 0;
  std::uint64_t segment_keys = 0;
  std::uint64_t radix_bits = 0;
  std::uint64_t most_radix_bits = 0;
  std::uint64_t wants_plan = 0;
};
constexpr std::size_t numbers_of_introduction = sizeof(introduction) / sizeof(std::uint64_t);

/// Shares of equal size of each process's records for its devices.
std::vector<std::uint64_t> share_out(const std::vector<std::uint64_t>& of_processes,
                                     const std::vector<unsigned>& first_ranks) {
  std::vector<std::uint64_t> counts;
  for (std::size_t p = 0; p < of_processes.size(); ++p) {
    const std::uint64_t num_ranks = first_ranks[p + 1] - first_ranks[p];
    for (std::uint64_t i = 0; i < num_ranks; ++i) counts.push_back(base::share_size(of_processes[p], num_ranks, i));
  }
  return counts;
}

transport::mpi_exchange_options mpi_exchange_options_of(session::state& s, const algorithms::cluster_sort& others) {
  transport::mpi_exchange_options options{.limits = s.limits(), .first_ranks = others.first_ranks, .keep_memory = [&s] {
                                            // It is never freed, on purpose.
                                            for (algorithms::rank& r : s.ranks)
                                              static_cast<void>(new std::vector<device::buffer>(std::move(r.slots)));
                                          }};
  const auto has_own_memory = [](const algorithms::rank& r) { return !r.device->shares_host_memory(); };
  if (std::ranges::any_of(s.ranks, has_own_memory)) options.staging_device = s.ranks.front().device.get();
  return options;
}

// The names stand in the order of exchange_method.
constexpr std::array<std::string_view, 3> exchange_names{"auto", "nccl", "host"};

}  // namespace

std::string_view name(exchange_method method) noexcept {
  return base::name_at(exchange_names, static_cast<std::size_t>(method));
}

exchange_method parse_exchange_method(std::string_view text) {
  return static_cast<exchange_method>(base::find_name(exchange_names, text, "exchange"));
}

algorithm parse_algorithm(std::string_view text) {
  return algorithm(algorithms::find_cluster_algorithm(text).driver.name);
}

std::vector<algorithm> list_algorithms() {
  std::vector<algorithm> all;
  for (const algorithms::cluster_entry& e : algorithms::all_cluster_algorithms())
    all.push_back(algorithm(e.driver.name));
  return all;
}

session::state::state(MPI_Comm communicator, options session_options)
    : given(std::move(session_options)),
      algorithm(algorithms::find_cluster_algorithm(name(given.algorithm))),
      sort_settings(settings_of(given)),
      group(transport::make_node_group(communicator, group_options_of(given))) {
  num_sharing = processes_of_this_machine(communicator);
  try {
    group->set_phase("meeting");
    require_same({{"version", SPANSORT_VERSION}, {"exchange", std::string(name(given.exchange))}});
    together("opening devices", [&] { open(); });
    connect();
  } catch (...) {
    leave_if_agreed();
    throw;
  }
}

void session::state::connect() {
  group->set_phase("connecting GPUs");
  const bool wants_link = given.exchange != exchange_method::host;
  gpus = transport::connect_gpus(*group, wants_link && devices.gpus.size() == 1 ? devices.gpus.front() : -1);
  if (!wants_link) gpus.why_not = "asked for (exchange 'host')";
  if (given.exchange != exchange_method::nccl || gpus.link != nullptr) return;
  all_know_of_failure = true;
  throw device_error("exchange 'nccl' cannot be had: " + gpus.why_not);
}

void session::state::together(std::string_view phase, const std::function<void()>& f) {
  all_know_of_failure = false;
  std::exception_ptr failure;
  if (try_together(
          *group, phase, [&] { base::with_threads(given.threads, f); }, failure))
    return;
  all_know_of_failure = true;
  std::rethrow_exception(failure);
}

void session::state::require_same(const std::vector<setting>& settings) {
  all_know_of_failure = false;
  const std::string differences = differences_of(*group, settings);
  if (differences.empty()) return;
  all_know_of_failure = true;
  throw invalid_argument(differences);
}

void session::state::open() {
  check(given, algorithm);
  devices = sorting::resolve_devices(given.devices);
  ranks = sorting::open_ranks(devices, {.across_nodes = devices.count == 0,
                                        .hooks = sort_settings.hooks,
                                        .hook = sorting::failing_allocations(sort_settings.hooks, num_allocations),
                                        .sharing_processes = num_sharing,
                                        .threads = given.threads});
}

algorithms::cluster_sort session::state::begin(std::string_view operation, const device::record_shape& shape,
                                               std::uint64_t num_keys, bool is_balanced) {
  const tuning_options& tuning = sort_settings.tuning;
  group->set_phase("settings");
  require_same({{"operation", std::string(operation)},
                {"type", std::string(name(shape.codec.type))},
                {"value_bytes", std::to_string(shape.value_bytes)},
                {"order", shape.codec.descending ? "descending" : "ascending"},
                {"sizes", is_balanced ? "balanced" : "as given"},
                {"algorithm", std::string(name(given.algorithm))},
                {"radix_bits", std::to_string(tuning.radix_bits)},
                {"epsilon", exactly(tuning.epsilon)},
                {"fuse_threshold", exactly(tuning.fuse_threshold)},
                {"message_bytes", std::to_string(given.message_bytes)}});
  return meet(shape, num_keys, is_balanced);
}

algorithms::cluster_sort session::state::meet(const device::record_shape& shape, std::uint64_t num_keys,
                                              bool is_balanced) {
  group->set_phase("sizes");
  const device::partition_advice mine = algorithms::advice_of_all(ranks, shape);
  const std::array<std::uint64_t, numbers_of_introduction> numbers{
      ranks.size(),         num_keys,
      mine.segment_keys,    mine.radix_bits,
      mine.most_radix_bits, given.report != nullptr && given.report->wants_plan};
  const std::vector<std::uint64_t> all = group->all_gather(numbers);

  algorithms::cluster_sort others;
  others.group = group.get();
  others.process = group->node_rank();
  others.advice = mine;
  others.first_ranks = {0};
  std::vector<std::uint64_t> sizes;
  bool have_as_many_devices = true;
  for (std::size_t at = 0; at < all.size(); at += numbers_of_introduction) {
    const introduction its{all[at], all[at + 1], all[at + 2], all[at + 3], all[at + 4], all[at + 5]};
    others.first_ranks.push_back(others.first_ranks.back() + static_cast<unsigned>(its.num_devices));
    sizes.push_back(its.num_keys);
    others.wants_whole_plan = others.wants_whole_plan || its.wants_plan != 0;
    have_as_many_devices = have_as_many_devices && its.num_devices == all[0];
    others.advice.segment_keys = std::min(others.advice.segment_keys, its.segment_keys);
    others.advice.radix_bits = std::min(others.advice.radix_bits, static_cast<unsigned>(its.radix_bits));
    others.advice.most_radix_bits = std::min(others.advice.most_radix_bits, static_cast<unsigned>(its.most_radix_bits));
  }
  first_key = std::accumulate(sizes.begin(), sizes.begin() + others.process, std::uint64_t{0});
  others.source_counts = share_out(sizes, others.first_ranks);
  if (!is_balanced) {
    others.target_counts = others.source_counts;
  } else if (algorithm.needs_target_counts || !have_as_many_devices) {
    const std::uint64_t total = std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{0});
    for (std::size_t p = 0; p < sizes.size(); ++p) sizes[p] = base::share_size(total, sizes.size(), p);
    others.target_counts = share_out(sizes, others.first_ranks);
  }
  return others;
}

std::uint64_t session::state::most_records(const device::record_shape& shape,
                                           const algorithms::cluster_sort& others) const {
  const algorithms::problem sort{.shape = shape, .others = &others};
  const plan::parameters p = algorithms::plan_parameters(sort, ranks, sort_settings);
  std::uint64_t most = 0;
  for (unsigned r = others.first_rank(); r < others.first_ranks[others.process + 1]; ++r) {
    most += target_count(p, r) + 2 * epsilon_keys(p);
  }
  return most;
}

std::uint64_t session::state::run(algorithms::problem problem, algorithms::cluster_sort& others,
                                  const sorting::operation& what) {
  transport::nccl_exchange by_nccl(gpus, others.first_ranks);
  transport::mpi_exchange by_mpi(*group, mpi_exchange_options_of(*this, others));
  transport::routed_exchange between_processes({&by_nccl, &by_mpi});
  others.between_processes = &between_processes;
  problem.others = &others;
  const algorithms::entry* driver = &algorithm.driver;
  if (others.source_counts.size() == 1 && algorithm.sorts_alone_as_auto) {
    // Nobody else: the one device sorts where the result is to be.
    driver = &algorithms::find_algorithm(name(spansort::algorithm::automatic));
    if (others.result.keys != problem.data().keys) {
      device::copy_parallel(others.result.keys, problem.data().keys,
                            problem.num_keys * problem.shape.codec.width_bytes());
      device::copy_parallel(others.result.values, problem.data().values, problem.num_keys * problem.shape.value_bytes);
    }
    problem.data() = others.result;
    problem.others = nullptr;
  }
  std::optional<sorting::gpu_call> call;
  algorithms::choice chosen;
  together("taking memory", [&] {
    call.emplace(devices, sort_settings.hooks);
    chosen = algorithms::choose(*driver, ranks, sort_settings, problem);
    algorithms::reserve_workspace(ranks, problem.shape, chosen.workspace, what.scratch_bytes, given.memory_limit_bytes);
    between_processes.connect(others.first_rank(), others.first_rank());
  });
  sort_report unseen;
  sort_report& report = given.report == nullptr ? unseen : *given.report;
  alone([&] { sorting::run_reported(chosen, ranks, sort_settings, problem, what, {}, report); });
  if (report.staged_bytes != 0 && report.staged_because.empty()) report.staged_because = "over MPI: " + gpus.why_not;
  std::uint64_t num_records = 0;
  for (const rank_report& r : report.ranks) num_records += r.num_keys_out;
  return num_records;
}

device::buffer session::state::scratch(std::uint64_t size_bytes) {
  if (calling_thread.empty()) {
    calling_thread.push_back(algorithms::make_rank(sorting::open_calling_thread(sort_settings.hooks, {})));
  }
  return calling_thread.front().device->allocate(size_bytes);
}

std::uint64_t session::state::sort(key_span keys, void* values, std::uint64_t value_bytes, direction d,
                                   bool is_balanced, const room_maker& make_room) {
  const bool has_values = value_bytes != 0;
  const auto ties = has_values ? keys::tie_rule::by_input_order : keys::tie_rule::by_bits;
  unsigned width = 0;  // of what travels
  if (has_values) width = value_bytes > 16 ? sizeof(std::uint64_t) : sorting::travelling_width(value_bytes);
  const algorithms::problem problem{.shape = {{keys.type, keys::is_descending(d), ties}, width},
                                    .input = device::records{keys.data, has_values ? values : nullptr},
                                    .num_keys = keys.num_keys};
  const std::string operation =
      has_values ? fmt::format("sort_pairs, values of {} bytes", value_bytes) : std::string("sort");
  algorithms::cluster_sort others = begin(operation, problem.shape, keys.num_keys, is_balanced);
  together("taking memory", [&] { others.result = make_room(most_records(problem.shape, others)); });
  if (width != value_bytes) return sort_with_substitute(problem, others, value_bytes);
  return run(problem, others, {.name = has_values ? "sort_pairs" : "sort"});
}

/// Sorts values of other sizes: what travels is the value widened, or its index among those of all node ranks, by which
/// it is fetched afterwards.
std::uint64_t session::state::sort_with_substitute(const algorithms::problem& problem, algorithms::cluster_sort& others,
                                                   std::uint64_t value_bytes) {
  const unsigned width = problem.shape.value_bytes;
  const bool is_fetched = value_bytes > width;
  const std::uint64_t most = std::max(problem.num_keys, most_records(problem.shape, others));
  const std::uint64_t num_fetched_bytes = is_fetched ? problem.num_keys * value_bytes : 0;
  const device::records result = others.result;
  device::buffer substitutes;
  device::buffer originals;  // of values that are fetched: the result may lie where they do
  together("taking memory", [&] {
    substitutes = scratch(most * width);
    originals = scratch(num_fetched_bytes);
    if (is_fetched) {
      device::copy_parallel(originals.data(), problem.data().values, num_fetched_bytes);
      sorting::write_indices(substitutes.data(), width, problem.num_keys, first_key);
    } else {
      sorting::repack(substitutes.data(), width, problem.data().values, value_bytes, problem.num_keys);
    }
  });
  algorithms::problem sort = problem;
  sort.data().values = others.result.values = substitutes.data();
  // fetch_values(): questions, places and values, and what others ask for.
  const std::uint64_t fetching_bytes = is_fetched ? most * (3 * sizeof(std::uint64_t) + 2 * value_bytes) : 0;
  const std::uint64_t num_records =
      run(sort, others, {.name = "sort_pairs", .scratch_bytes = most * width + num_fetched_bytes + fetching_bytes});
  if (is_fetched) {
    alone([&] {
      fetch_values(*group, limits(),
                   {.values = originals.data(), .value_bytes = value_bytes, .num_values = problem.num_keys},
                   {static_cast<const std::uint64_t*>(substitutes.data()), num_records}, result.values);
    });
  } else {
    sorting::repack(result.values, value_bytes, substitutes.data(), width, num_records);
  }
  return num_records;
}

session::session(MPI_Comm communicator, options options)
    : state_(std::make_unique<state>(communicator, std::move(options))) {}
session::~session() = default;
session::session(session&&) noexcept = default;
session& session::operator=(session&&) noexcept = default;

unsigned session::node_rank() const noexcept { return state_->group->node_rank(); }
unsigned session::num_nodes() const noexcept { return state_->group->num_nodes(); }
bool session::all_know_of_failure() const noexcept { return state_->all_know_of_failure; }

void session::sort(key_span keys, direction d) {
  const call_scope scope(*state_);
  state_->together("checking arguments", [&] { sorting::check_keys(keys); });
  state_->sort(keys, nullptr, 0, d, false, [&](std::uint64_t) { return device::records{keys.data, nullptr}; });
}

void session::sort_pairs(key_span keys, void* values, std::uint64_t value_bytes, direction d) {
  sort_pairs(keys, values, value_bytes, keys.num_keys, d);
}

void session::sort_pairs(key_span keys, void* values, std::uint64_t value_bytes, std::uint64_t num_values,
                         direction d) {
  const call_scope scope(*state_);
  state_->together("checking arguments", [&] {
    sorting::check_keys(keys);
    detail::require_same_count(keys.num_keys, num_values, "values");
    sorting::check_values(keys, values, value_bytes);
  });
  state_->sort(keys, values, value_bytes, d, false, [&](std::uint64_t) { return device::records{keys.data, values}; });
}

std::uint64_t session::sort_balanced(key_span keys, void* values, std::uint64_t value_bytes, std::uint64_t num_values,
                                     direction d, const std::function<arrays(std::uint64_t)>& make_room) {
  const call_scope scope(*state_);
  state_->together("checking arguments", [&] {
    sorting::check_keys(keys);
    if (value_bytes == 0) return;
    detail::require_same_count(keys.num_keys, num_values, "values");
    sorting::check_values(keys, values, value_bytes);
  });
  return state_->sort(keys, values, value_bytes, d, true, [&](std::uint64_t most) {
    const arrays made = make_room(most);
    return device::records{made.keys, made.values};
  });
}

void session::state::argsort(const const_key_span& keys, std::uint64_t* indices, void* sorted_keys, direction d) {
  const keys::key_codec codec{keys.type, keys::is_descending(d), keys::tie_rule::by_input_order};
  algorithms::problem problem{.shape = {codec, sizeof(std::uint64_t)},
                              .input = device::records{sorted_keys, indices},
                              .num_keys = keys.num_keys};
  const std::uint64_t keys_bytes = keys.num_keys * size_bytes(keys.type);
  algorithms::cluster_sort others = begin("argsort", problem.shape, keys.num_keys, false);
  device::copy_parallel(sorted_keys, keys.data, keys_bytes);
  sorting::write_indices(indices, sizeof(std::uint64_t), keys.num_keys, first_key);
  others.result = problem.data();
  run(problem, others, {.name = "argsort", .scratch_bytes = keys_bytes});
}

void session::argsort(const_key_span keys, std::uint64_t* indices, direction d) {
  const call_scope scope(*state_);
  state& s = *state_;
  device::buffer copy;
  s.together("checking arguments", [&] {
    sorting::check_keys(keys);
    sorting::check_indices(keys, indices, sizeof(std::uint64_t));
    copy = s.scratch(keys.num_keys * size_bytes(keys.type));
  });
  s.argsort(keys, indices, copy.data(), d);
}

std::vector<std::uint64_t> session::argsort(const_key_span keys, direction d) {
  const call_scope scope(*state_);
  std::vector<std::uint64_t> indices;
  state_->together("taking memory", [&] { indices.resize(keys.num_keys); });
  argsort(keys, indices.data(), d);
  return indices;
}

}  // namespace spansort::mpi
