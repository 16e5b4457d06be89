// SPDX-License-Identifier: Apache-2.0
// This header says what a session holds, for the files that implement its calls.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "algorithms/cluster_sort.hpp"
#include "base/shares.hpp"
#include "base/threads.hpp"
#include "mpi/agreement.hpp"
#include "mpi/algorithms/cluster_algorithms.hpp"
#include "mpi/transport/exchange_bytes.hpp"
#include "mpi/transport/nccl_link.hpp"
#include "mpi/transport/node_group.hpp"
#include "sort/open_devices.hpp"
#include "sort/run_reported.hpp"
#include "spansort/mpi.hpp"

namespace spansort::mpi {

struct session::state {
  state(MPI_Comm communicator, options session_options);
  ~state() { leave_if_agreed(); }
  state(const state&) = delete;
  state& operator=(const state&) = delete;

  void open();
  /// The GPUs of all node ranks, where that can be.
  void connect();
  /// Otherwise the group would tell those that have not heard of it yet that this node rank failed.
  void leave_if_agreed() noexcept {
    if (all_know_of_failure) group->leave();
  }

  // A failure that all node ranks hear of in the same place is no failure of the group: the session can be used
  // further.

  /// Calls f() on every node rank. Where it throws, the exception goes on; all others throw cluster_failure.
  void together(std::string_view phase, const std::function<void()>& f);
  /// Throws invalid_argument on all node ranks unless they have the same settings.
  void require_same(const std::vector<setting>& settings);
  /// Calls f(), whose failures are this node rank's own: the others, who wait for it, are told, and the group ends.
  template <class F>
  void alone(F&& f) {
    all_know_of_failure = false;
    try {
      base::with_threads(given.threads, f);
    } catch (const cluster_failure&) {
      throw;
    } catch (const std::exception& failure) {
      group->announce_failure(failure.what());
      throw;
    }
  }
  /// Calls f() as alone() does, for an f() that asks for the same on all node ranks and gets the same: what is wrong
  /// with the request or the keys is thrown on all.
  template <class F>
  void agreed(F&& f) {
    all_know_of_failure = false;
    std::exception_ptr refused;
    alone([&] {
      try {
        f();
      } catch (const bad_input&) {
        refused = std::current_exception();
      } catch (const invalid_argument&) {
        refused = std::current_exception();
      }
    });
    if (refused == nullptr) return;
    all_know_of_failure = true;
    std::rethrow_exception(refused);
  }

  /// Agrees on what is to be done, tells the others of this node rank's keys and devices, and learns theirs.
  [[nodiscard]] algorithms::cluster_sort begin(std::string_view operation, const device::record_shape& shape,
                                               std::uint64_t num_keys, bool is_balanced);
  [[nodiscard]] algorithms::cluster_sort meet(const device::record_shape& shape, std::uint64_t num_keys,
                                              bool is_balanced);
  /// Sorts the problem's records to `others.result`. Returns how many there are then.
  std::uint64_t run(algorithms::problem problem, algorithms::cluster_sort& others, const sorting::operation& what);
  /// Keys, and values where `value_bytes` is not 0. `make_room` gives memory for the result, of which there is at most
  /// as much as it is asked for.
  using room_maker = std::function<device::records(std::uint64_t most_records)>;
  std::uint64_t sort(key_span keys, void* values, std::uint64_t value_bytes, direction d, bool is_balanced,
                     const room_maker& make_room);
  std::uint64_t sort_with_substitute(const algorithms::problem& problem, algorithms::cluster_sort& others,
                                     std::uint64_t value_bytes);
  /// The stable order of all keys, this node rank's part: indices, and the keys at them, in memory for as many as
  /// `keys`.
  void argsort(const const_key_span& keys, std::uint64_t* indices, void* sorted_keys, direction d);
  [[nodiscard]] transport::exchange_limits limits() const {
    return {.message_bytes = given.message_bytes, .on_progress = {}};
  }
  /// Records that this node rank may end with.
  [[nodiscard]] std::uint64_t most_records(const device::record_shape& shape,
                                           const algorithms::cluster_sort& others) const;
  /// Host memory for one call.
  [[nodiscard]] device::buffer scratch(std::uint64_t size_bytes);

  options given;
  const algorithms::cluster_entry& algorithm;  ///< asked for
  algorithms::sort_settings sort_settings;
  std::unique_ptr<transport::node_group> group;
  transport::nccl_connection gpus;  ///< ends before the group
  sorting::device_set devices;
  std::uint64_t num_allocations = 0;
  unsigned num_sharing = 1;                      ///< node ranks on this machine
  std::vector<algorithms::rank> calling_thread;  ///< allocates host memory
  std::vector<algorithms::rank> ranks;
  std::uint64_t first_key = 0;  ///< of this node rank's, among those of all; of the current call
  bool all_know_of_failure = false;
};

/// Lives while a call of the session's runs. Where that leaves by an exception that not all node ranks know of, the
/// others, who may wait for this one, are told at once: memory may end anywhere, between what all do together too.
class call_scope {
 public:
  explicit call_scope(session::state& s) noexcept : state_(s) { state_.all_know_of_failure = false; }
  ~call_scope() {
    if (std::uncaught_exceptions() > exceptions_before_ && !state_.all_know_of_failure) {
      state_.group->announce_failure("it left by an exception");
    }
  }
  call_scope(const call_scope&) = delete;
  call_scope& operator=(const call_scope&) = delete;

 private:
  session::state& state_;
  int exceptions_before_ = std::uncaught_exceptions();
};

}  // namespace spansort::mpi
