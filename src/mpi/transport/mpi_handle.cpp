// SPDX-License-Identifier: Apache-2.0
#include "mpi/transport/mpi_handle.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <thread>

#include "base/math.hpp"
#include "mpi/transport/group_state.hpp"
#include "mpi/transport/rendezvous.hpp"
#include "spansort/errors.hpp"

namespace spansort::transport {
namespace {

std::string mpi_text(int code) {
  char text[MPI_MAX_ERROR_STRING] = "unknown error";
  int length = 0;
  MPI_Error_string(code, text, &length);
  return text;
}

void check_usable(MPI_Comm communicator) {
  int initialised = 0;
  int finalised = 0;
  MPI_Initialized(&initialised);
  MPI_Finalized(&finalised);
  if (initialised == 0) throw invalid_argument("MPI is not initialised: call MPI_Init before sorting over MPI");
  if (finalised != 0) throw invalid_argument("MPI is finalised already: sort before MPI_Finalize");
  if (communicator == MPI_COMM_NULL) throw invalid_argument("the communicator is MPI_COMM_NULL");
  int is_inter = 0;
  MPI_Comm_test_inter(communicator, &is_inter);
  if (is_inter != 0) throw invalid_argument("the communicator is an intercommunicator; merge it (MPI_Intercomm_merge)");
}

bool all_on_one_host(node_group& group) {
  char name[MPI_MAX_PROCESSOR_NAME] = "";
  int length = 0;
  check_mpi(MPI_Get_processor_name(name, &length), "MPI_Get_processor_name");
  const std::vector<std::string> names = group.all_gather_strings({name, static_cast<std::size_t>(length)});
  return std::ranges::all_of(names, [&](const std::string& other) { return other == names.front(); });
}

/// The connections of this node rank. Node rank 0's part and that of the others run at the same time.
std::vector<node_link> meet(node_group& group, std::chrono::milliseconds limit, std::string& problem) {
  const bool is_one_host = all_on_one_host(group);
  std::optional<rendezvous_host> host;
  try {
    if (group.node_rank() == 0) host.emplace(is_one_host);
  } catch (const std::exception& failure) {
    problem = failure.what();
  }
  const std::vector<std::string> points = group.all_gather_strings(host ? host->point().to_text() : "");
  std::vector<node_link> links;
  if (points.front().empty()) return links;
  try {
    if (host) return host->accept_nodes(group.num_nodes(), limit);
    links.push_back(connect_to_host(rendezvous_point::from_text(points.front()), group.node_rank(), limit));
  } catch (const std::exception& failure) {
    problem = failure.what();
  }
  return links;
}

void start_watch(node_group& group, std::chrono::milliseconds limit) {
  if (group.num_nodes() == 1) return;
  // All have come this far: the communicator was duplicated by all.
  group.internals().meeting_deadline = std::chrono::steady_clock::now() + limit + limit;
  std::string problem;
  std::vector<node_link> links = meet(group, limit, problem);
  // All stop when one cannot connect.
  const std::vector<std::string> problems = group.all_gather_strings(problem);
  for (std::size_t r = 0; r < problems.size(); ++r) {
    if (!problems[r].empty()) throw cluster_failure(problems[r], static_cast<int>(r), "connecting");
  }
  group.watch().start(std::move(links));
  group.internals().meeting_deadline.reset();
}

}  // namespace

void check_mpi(int code, std::string_view call) {
  if (code != MPI_SUCCESS) throw cluster_failure(fmt::format("{} failed: {}", call, mpi_text(code)), -1, "");
}

void backoff::pause() {
  constexpr unsigned num_yields = 200;
  constexpr unsigned longest_us = 50;
  ++num_pauses_;
  if (num_pauses_ <= num_yields) {
    std::this_thread::yield();
    return;
  }
  std::this_thread::sleep_for(std::chrono::microseconds(std::min(num_pauses_ - num_yields, longest_us)));
}

node_group::state::state(MPI_Comm original, const group_options& options)
    : max_elements(options.max_elements), on_phase(options.on_phase), exceptions_before(std::uncaught_exceptions()) {
  check_mpi(MPI_Comm_dup(original, &communicator), "MPI_Comm_dup");
  check_mpi(MPI_Comm_set_errhandler(communicator, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  int rank = 0;
  int size = 0;
  check_mpi(MPI_Comm_rank(communicator, &rank), "MPI_Comm_rank");
  check_mpi(MPI_Comm_size(communicator, &size), "MPI_Comm_size");
  node_rank = base::checked_cast<unsigned>(rank);
  num_nodes = base::checked_cast<unsigned>(size);
  watch = std::make_unique<failure_watch>(node_rank, options.watch);
}

node_group::state::~state() {
  if (std::uncaught_exceptions() > exceptions_before) watch->announce_failure("it left by an exception");
  watch->leave();
  // Freeing is collective, and after a failure not all node ranks are there.
  int is_finalised = 0;
  MPI_Finalized(&is_finalised);
  if (!watch->failure() && is_finalised == 0) MPI_Comm_free(&communicator);
}

void node_group::state::wait(MPI_Request& request, std::string_view call) {
  backoff waiting;
  while (true) {
    // First: MPI's own way to learn of a lost peer ends the process.
    watch->check();
    int done = 0;
    check_mpi(MPI_Test(&request, &done, MPI_STATUS_IGNORE), call);
    if (done != 0) return;
    if (meeting_deadline && std::chrono::steady_clock::now() > *meeting_deadline) {
      throw cluster_failure(fmt::format("the node ranks have not met: {} does not end", call), -1, "connecting");
    }
    waiting.pause();
  }
}

std::unique_ptr<node_group> make_node_group(MPI_Comm communicator, const group_options& options) {
  check_usable(communicator);
  auto group = std::make_unique<node_group>(std::make_unique<node_group::state>(communicator, options));
  start_watch(*group, options.watch.connect_limit);
  return group;
}

}  // namespace spansort::transport
