// SPDX-License-Identifier: Apache-2.0
#include "sort/pick_devices.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "device/host/topology.hpp"
#include "sort/gpu_devices.hpp"
#include "sort/rates.hpp"
#include "spansort/errors.hpp"

namespace spansort::sorting {
namespace {

double trip_s(std::uint64_t input_bytes) {
  return static_cast<double>(input_bytes) / rates.gpu_trip_bytes_per_s + rates.gpu_overhead_s;
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
  return static_cast<double>(sort.input_bytes) / gpus <=
         rates.fillable_share * static_cast<double>(room_bytes(sort, gpus));
}

device_choice pick_gpus(const sort_demand& sort, double gpu_s, double cpu_s) {
  const int count = sort.takes_one_device ? std::min(1, num_gpus()) : num_gpus();
  if (count == 0) return {};
  device_list first;
  first.gpus = {0};
  const gpu_call call(first, {});  // throws where their runtime is in no state to begin
  const bool wants_several = count > 1 && (sort.input_bytes >= rates.several_gpus_bytes || !fits(sort, 1));
  const int used = wants_several ? count : 1;
  const std::string gpus = fmt::format("{} GPU{}", used, used == 1 ? "" : "s");
  const bool in_parts = !fits(sort, used);
  if (in_parts) {
    gpu_s += trip_s(sort.input_bytes);  // out_of_core makes two
    const bool may_go = sort.takes_parts && room_bytes(sort, used) >= rates.least_gpu_bytes;
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
  const double cpu_s =
      static_cast<double>(sort.input_bytes) / (rates.cpu_thread_bytes_per_s * device::host::num_processors());
  const double gpu_s = trip_s(sort.input_bytes) + (sort.gpus_are_open ? 0 : rates.gpu_start_s);
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
