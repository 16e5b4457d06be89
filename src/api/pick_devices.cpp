// SPDX-License-Identifier: Apache-2.0
#include "api/pick_devices.hpp"

#include <fmt/format.h>

#include "api/gpu_devices.hpp"
#include "device/host/topology.hpp"

namespace spansort::api {
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

double trip_s(std::uint64_t input_bytes) {
  return static_cast<double>(input_bytes) / gpu_trip_bytes_per_s + gpu_overhead_s;
}

}  // namespace

device_choice pick_devices(std::uint64_t input_bytes, bool gpus_are_open, std::uint64_t held_bytes) {
  const double cpu_s = static_cast<double>(input_bytes) / (cpu_bytes_per_s * device::host::num_processors());
  const double gpu_s = trip_s(input_bytes) + (gpus_are_open ? 0 : gpu_start_s);
  if (cpu_s <= gpu_s) return {};
  const int count = num_gpus();
  if (count == 0) return {};
  const std::uint64_t free_bytes = free_gpu_bytes(0) + held_bytes;
  const auto fits = [&](int gpus) {
    return static_cast<double>(input_bytes) / gpus <= fillable * static_cast<double>(free_bytes);
  };
  const bool wants_several = count > 1 && (input_bytes >= bytes_worth_several_gpus || !fits(1));
  const int used = wants_several ? count : 1;
  if (!fits(used)) {
    return {{}, fmt::format("on the CPU: too large for the memory of {} GPU{}", used, used == 1 ? "" : "s")};
  }
  device_choice choice;
  for (int i = 0; i < used; ++i) choice.list.gpus.push_back(i);
  choice.why = fmt::format("{} GPU{}: about {:.0f} ms against {:.0f} on the CPU", used, used == 1 ? "" : "s",
                           gpu_s * 1e3, cpu_s * 1e3);
  return choice;
}

}  // namespace spansort::api
