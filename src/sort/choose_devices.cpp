// SPDX-License-Identifier: Apache-2.0
#include "sort/choose_devices.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/threads.hpp"
#include "sort/gpu_devices.hpp"
#include "sort/rates.hpp"
#include "spansort/errors.hpp"

namespace spansort::sorting {
namespace {

double trip_s(std::uint64_t input_bytes) {
  return static_cast<double>(input_bytes) / rates.gpu_trip_bytes_per_s + rates.gpu_overhead_s;
}

/// Returns how long this sort waits for GPUs to be opened, and for their runtime where nobody has used it yet.
double start_s(const sort_demand& sort, const machine& on) {
  if (sort.gpus_are_open) return 0;
  const double reading_s = sort.is_arriving ? static_cast<double>(sort.input_bytes) / rates.file_bytes_per_s : 0;
  return std::max(0.0, (on.gpus_are_started ? rates.gpu_open_s : rates.gpu_start_s) - reading_s - sort.missed_s);
}

/// Returns what a sort may take of each of the first `gpus` GPUs: what the fullest of them has.
std::uint64_t room_bytes(const sort_demand& sort, const machine& on, int gpus) {
  std::uint64_t least = on.free_gpu_bytes(0);
  for (int i = 1; i < gpus; ++i) least = std::min(least, on.free_gpu_bytes(i));
  const std::uint64_t room = least + sort.held_gpu_bytes;
  return sort.device_memory_bytes == 0 ? room : std::min(room, sort.device_memory_bytes);
}

bool fits(const sort_demand& sort, const machine& on, int gpus) {
  return static_cast<double>(sort.input_bytes) / gpus <=
         rates.fillable_share * static_cast<double>(room_bytes(sort, on, gpus));
}

device_choice on_cpu(std::string why = {}) { return {.list = {}, .why = std::move(why)}; }

device_choice choose_gpus(const sort_demand& sort, const machine& on, double gpu_s, double cpu_s) {
  const int count = sort.algorithm.uses_all_devices ? on.num_gpus() : std::min(1, on.num_gpus());
  if (count == 0) return on_cpu();
  const bool wants_several = count > 1 && (sort.input_bytes >= rates.several_gpus_bytes || !fits(sort, on, 1));
  const int used = wants_several ? count : 1;
  const std::string gpus = fmt::format("{} GPU{}", used, used == 1 ? "" : "s");
  const bool in_parts = !fits(sort, on, used);
  if (in_parts) {
    gpu_s += trip_s(sort.input_bytes);  // there are two
    const bool may_go = sort.algorithm.sorts_in_parts && room_bytes(sort, on, used) >= rates.least_gpu_bytes;
    if (!may_go || gpu_s >= cpu_s) return on_cpu("on the CPU: too large for the free memory of " + gpus);
  }
  device_choice choice;
  for (int i = 0; i < used; ++i) choice.list.gpus.push_back(i);
  choice.why = fmt::format("{}{}: about {:.0f} ms against {:.0f} on the CPU", gpus, in_parts ? ", in parts" : "",
                           gpu_s * 1e3, cpu_s * 1e3);
  return choice;
}

}  // namespace

machine this_machine(unsigned threads) {
  return {.num_processors = base::resolve_threads(threads),
          .num_gpus = num_gpus,
          .free_gpu_bytes =
              [](int ordinal) {
                device_set gpu;
                gpu.gpus = {ordinal};
                const gpu_call call(gpu, {});  // throws where the runtime is in no state to begin
                return free_gpu_bytes(ordinal);
              },
          .gpus_are_started = gpus_are_started()};
}

device_choice choose_devices(const device_set& asked_for, const sort_demand& sort, const machine& on) {
  const bool names_several = !asked_for.gpus.empty() || asked_for.count > 1;
  if (!names_several && sort.algorithm.runs_inline && sort.num_keys <= sort.inline_keys) {
    return {.list = asked_for, .on_calling_thread = true};
  }
  if (!asked_for.is_auto) return {.list = asked_for};
  const double cpu_s = static_cast<double>(sort.input_bytes) / (rates.cpu_thread_bytes_per_s * on.num_processors);
  const double gpu_s = trip_s(sort.input_bytes) + start_s(sort, on);
  if (cpu_s <= gpu_s) {
    device_choice choice = on_cpu();
    choice.missed_s = std::max(0.0, cpu_s - trip_s(sort.input_bytes));
    return choice;
  }
  // GPUs hold the input too, and their scratch.
  if (sort.memory_limit_bytes != 0 && sort.memory_limit_bytes / 2 <= sort.input_bytes) return on_cpu();
  try {
    return choose_gpus(sort, on, gpu_s, cpu_s);
  } catch (const error& failure) {
    return on_cpu(std::string("on the CPU, for the GPUs could not be asked: ") + failure.what());
  }
}

}  // namespace spansort::sorting
