// SPDX-License-Identifier: Apache-2.0
#include "exchange/mpi/mpi_handle.hpp"

#include <fmt/format.h>

#include <exception>
#include <thread>

#include "base/math.hpp"
#include "exchange/mpi/group_state.hpp"
#include "spansort/errors.hpp"

namespace spansort::exchange {
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
    : max_elements(options.max_elements), exceptions_before(std::uncaught_exceptions()) {
  check_mpi(MPI_Comm_dup(original, &communicator), "MPI_Comm_dup");
  check_mpi(MPI_Comm_set_errhandler(communicator, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  int rank = 0;
  int size = 0;
  check_mpi(MPI_Comm_rank(communicator, &rank), "MPI_Comm_rank");
  check_mpi(MPI_Comm_size(communicator, &size), "MPI_Comm_size");
  node_rank = base::checked_cast<unsigned>(rank);
  num_nodes = base::checked_cast<unsigned>(size);
  watch = std::make_unique<failure_watch>(node_rank, num_nodes, options.watch);
}

node_group::state::~state() {
  if (std::uncaught_exceptions() > exceptions_before) watch->announce_failure("it left by an exception");
  watch->leave();
  // Freeing waits for all ranks, and after a failure not all are there.
  if (!watch->failure()) MPI_Comm_free(&communicator);
}

void node_group::state::wait(MPI_Request& request, std::string_view call) {
  backoff waiting;
  while (true) {
    int done = 0;
    check_mpi(MPI_Test(&request, &done, MPI_STATUS_IGNORE), call);
    if (done != 0) return;
    watch->check();
    waiting.pause();
  }
}

std::unique_ptr<node_group> make_node_group(MPI_Comm communicator, const group_options& options) {
  check_usable(communicator);
  return std::make_unique<node_group>(std::make_unique<node_group::state>(communicator, options));
}

}  // namespace spansort::exchange
