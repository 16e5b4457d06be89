// SPDX-License-Identifier: Apache-2.0
#include "sort/pick_devices.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "device/host/topology.hpp"
#include "sort/gpu_devices.hpp"
#include "spansort/errors.hpp"

namespace spansort::sorting {
namespace {

// Rates to choose by, not to promise: u32 on an H100 and 16 threads of its host, n = 2^10 to 2e9.

/// Keys and values that one thread of the CPU sorts: 0.17e9 there, 0.4e9 on two cores of an AMD Zen 3.
constexpr double cpu_bytes_per_s = 0.3e9;
/// To the GPU, sorted, and back, ordinary memory: 11e9 at 64 MiB, 22e9 at 8 GB.
constexpr double gpu_trip_bytes_per_s = 15e9;
/// Beside the trip.
constexpr double gpu_overhead_s = 0.5e-3;
/// The first use of a GPU in a process: between 0.2 and 0.4.
constexpr double gpu_start_s = 0.3;
/// From here on all GPUs are faster than one.
constexpr std::uint64_t bytes_worth_several_gpus = std::uint64_t{1} << 30;
/// Of a GPU's free memory, what a sort may fill: twice its share of the input, slack and scratch included.
constexpr double fillable = 0.45;
/// Below this a GPU cannot sort larger inputs in parts either: scratch, and slots that are worth a trip.
constexpr std::uint64_t least_gpu_bytes = std::uint64_t{256} << 20;

double trip_s(std::uint64_t input_bytes) {
  return static_cast<double>(input_bytes) / gpu_trip_bytes_per_s + gpu_overhead_s;
}

/// Of the fullest of the first `count` GPUs.
std::uint64_t least_free_bytes(int count) {
  std::uint64_t least = free_gpu_bytes(0);
  for (int i = 1; i < count; ++i) least = std::min(least, free_gpu_bytes(i));
  return least;
}

/// Of each of the first `gpus` GPUs, what a sort may take.
std::uint64_t room_bytes(const sort_demand& sort, int gpus) {
  const std::uint64_t room = least_free_bytes(gpus) + sort.held_gpu_bytes;
  return sort.device_memory_bytes == 0 ? room : std::min(room, sort.device_memory_bytes);
}

bool fits(const sort_demand& sort, int gpus) {
  return static_cast<double>(sort.input_bytes) / gpus <= fillable * static_cast<double>(room_bytes(sort, gpus));
}

device_choice pick_gpus(const sort_demand& sort, double gpu_s, double cpu_s) {
  const int count = sort.takes_one_device ? std::min(1, num_gpus()) : num_gpus();
  if (count == 0) return {};
  device_list first;
  first.gpus = {0};
  const gpu_call call(first, {});  // throws where their runtime is in no state to begin
  const bool wants_several = count > 1 && (sort.input_bytes >= bytes_worth_several_gpus || !fits(sort, 1));
  const int used = wants_several ? count : 1;
  const std::string gpus = fmt::format("{} GPU{}", used, used == 1 ? "" : "s");
  const bool in_parts = !fits(sort, used);
  if (in_parts) {
    gpu_s += trip_s(sort.input_bytes);  // out_of_core makes two
    const bool may_go = sort.takes_parts && room_bytes(sort, used) >= least_gpu_bytes;
    if (!may_go || gpu_s >= cpu_s) return {{}, "on the CPU: too large for the free memory of " + gpus};
  }
  device_choice choice;
  for (int i = 0; i < used; ++i) choice.list.gpus.push_back(i);
  choice.why = fmt::format("{}{}: about {:.0f} ms against {:.0f} on the CPU", gpus, in_parts ? ", in parts" : "",
                           gpu_s * 1e3, cpu_s * 1e3);
  return choice;
}

}  // namespace

device_choice pick_devices(const sort_demand& sort) {
  const double cpu_s = static_cast<double>(sort.input_bytes) / (cpu_bytes_per_s * device::host::num_processors());
  const double gpu_s = trip_s(sort.input_bytes) + (sort.gpus_are_open ? 0 : gpu_start_s);
  if (cpu_s <= gpu_s) return {};
  // GPUs hold the input too, and their scratch.
  if (sort.memory_limit_bytes != 0 && sort.memory_limit_bytes / 2 <= sort.input_bytes) return {};
  try {
    return pick_gpus(sort, gpu_s, cpu_s);
  } catch (const error& failure) {
    return {{}, std::string("on the CPU, for the GPUs could not be asked: ") + failure.what()};
  }
}

}  // namespace spansort::sorting
