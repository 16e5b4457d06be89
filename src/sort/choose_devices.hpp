// SPDX-License-Identifier: Apache-2.0
// This header decides on which devices an input is sorted: the first of the two decisions of a sort, made before any
// device is opened. The second, algorithms::choose(), asks the devices that have been opened.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "algorithms/registry.hpp"
#include "sort/open_devices.hpp"

namespace spansort::sorting {

struct device_choice {
  device_set list;
  bool has_few_keys = false;      ///< too few to wake others, where no GPU sorts them
  bool gpus_refused = false;      ///< they were wanted, and could not be used
  std::string why = {};           ///< half a sentence; "" where nothing else was there to choose
  double missed_s = 0;            ///< that open GPUs would have saved
  double missed_with_open_s = 0;  ///< that GPUs would have saved which this sort had to open first

  /// The calling thread sorts instead of the list.
  [[nodiscard]] bool on_calling_thread() const noexcept { return has_few_keys && list.gpus.empty(); }
};

/// The choice depends on these facts.
struct sort_demand {
  std::uint64_t num_keys = 0;
  std::uint64_t input_bytes = 0;          ///< in host memory, values included
  bool is_arriving = false;               ///< out of a file, meanwhile: GPUs are opened beside that
  std::uint64_t inline_keys = 0;          ///< inputs up to this size need nobody but the calling thread
  std::uint64_t memory_limit_bytes = 0;   ///< on workspace; 0: none
  std::uint64_t device_memory_bytes = 0;  ///< on workspace on each device; 0: none
  std::uint64_t held_gpu_bytes = 0;       ///< that the caller holds on each GPU already
  bool gpus_are_open = false;             ///< the caller has used them: there is nothing left to start
  double missed_s = 0;                    ///< that open GPUs would have saved the caller's sorts before this one
  algorithms::traits algorithm = {};      ///< of the one asked for
};

/// This is what the machine has. GPUs are asked only where the answer matters.
struct machine {
  unsigned num_processors = 1;
  std::function<int()> num_gpus;
  std::function<void()> check_gpus;                          ///< throws where their runtime is in no state to begin
  std::function<std::uint64_t(int ordinal)> free_gpu_bytes;  ///< throws so too, or where the GPU cannot be asked
  /// An earlier call of this process has started their runtime.
  bool gpus_are_started = false;
  /// GPUs would have saved this in sorts of this process before, had their runtime been started.
  double missed_s = 0;
};

/// The one that this process runs on. `threads` is the option of that name.
[[nodiscard]] machine this_machine(unsigned threads);

/// Adds to what this_machine() says was missed, or begins anew where GPUs refused: they are asked again once as much
/// has been missed again. A choice that was followed is remembered once.
void remember_missed(const device_choice& followed) noexcept;

/// The calling thread for few keys, else the devices asked for; of "auto", the GPUs where the trip to them pays, else
/// the CPU. Opening GPUs pays once the caller's sorts have missed as much as that takes, and starting the runtime once
/// those of the process have, for they may go on: who sorts again and again waits about twice as long at most as with
/// the better choice from the beginning. A GPU that cannot be asked is no reason to fail.
[[nodiscard]] device_choice choose_devices(const device_set& asked_for, const sort_demand& sort, const machine& on);

}  // namespace spansort::sorting
