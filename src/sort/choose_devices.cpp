// SPDX-License-Identifier: Apache-2.0
#include "sort/choose_devices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>

#include "base/threads.hpp"
#include "sort/gpu_devices.hpp"
#include "sort/rates.hpp"
#include "spansort/errors.hpp"

namespace spansort::sorting {
namespace {

/// Seconds that GPUs would have saved this process, had they been started.
constinit std::atomic<double> missed_by_process_s = 0;

/// Returns how long this sort waits for GPUs to be opened, and for their runtime where nobody has used it yet.
double start_s(const sort_demand& sort, const machine& on) {
  if (sort.gpus_are_open) return 0;
  const double reading_s = sort.is_arriving ? static_cast<double>(sort.input_bytes) / rates.file_bytes_per_s : 0;
  const double open_s = gpu_open_s(sort.input_bytes);
  if (on.gpus_are_started) return std::max(0.0, open_s - reading_s - sort.missed_s);
  // The process has missed what the caller has, too, but for the time to open a device: both count once.
  const double missed_s = std::max(sort.missed_s, on.missed_s + std::min(sort.missed_s, open_s));
  return std::max(0.0, rates.gpu_start_s + open_s - reading_s - missed_s);
}

/// Returns what a sort may take of each of the first `gpus` GPUs: what the fullest of them has.
std::uint64_t room_bytes(const sort_demand& sort, const machine& on, int gpus) {
  std::uint64_t least = on.free_gpu_bytes(0);
  for (int i = 1; i < gpus; ++i) least = std::min(least, on.free_gpu_bytes(i));
  const std::uint64_t room = least + sort.held_gpu_bytes;
  return sort.device_memory_bytes == 0 ? room : std::min(room, sort.device_memory_bytes);
}

bool fits(const sort_demand& sort, const machine& on, int gpus) {
  // A GPU that holds enough of the caller's memory need not be asked, which takes longer than a small sort.
  const bool is_held =
      static_cast<double>(sort.input_bytes) <= rates.fillable_share * static_cast<double>(sort.held_gpu_bytes);
  if (gpus == 1 && is_held && sort.device_memory_bytes == 0) {
    on.check_gpus();
    return true;
  }
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
    gpu_s += gpu_trip_s(sort.input_bytes);  // there are two
    const bool may_go = sort.algorithm.sorts_in_parts && room_bytes(sort, on, used) >= rates.least_gpu_bytes;
    if (!may_go || gpu_s >= cpu_s) return on_cpu("on the CPU: too large for the free memory of " + gpus);
  }
  device_choice choice;
  for (int i = 0; i < used; ++i) choice.list.gpus.push_back(i);
  choice.why = fmt::format("{}{}: about {:.0f} ms against {:.0f} on the CPU", gpus, in_parts ? ", in parts" : "",
                           gpu_s * 1e3, cpu_s * 1e3);
  return choice;
}

device_choice choose_of_auto(const sort_demand& sort, const machine& on) {
  const double cpu_s = cpu_sort_s(sort.input_bytes, on.num_processors);
  const double trip_s = gpu_trip_s(sort.input_bytes);
  const double gpu_s = trip_s + start_s(sort, on);
  if (cpu_s <= gpu_s) {
    device_choice choice = on_cpu();
    choice.missed_s = std::max(0.0, cpu_s - trip_s);
    choice.missed_with_open_s = std::max(0.0, choice.missed_s - gpu_open_s(sort.input_bytes));
    return choice;
  }
  // GPUs hold the input too, and their scratch.
  if (sort.memory_limit_bytes != 0 && sort.memory_limit_bytes / 2 <= sort.input_bytes) return on_cpu();
  try {
    return choose_gpus(sort, on, gpu_s, cpu_s);
  } catch (const error& failure) {
    device_choice choice = on_cpu(std::string("on the CPU, for the GPUs could not be asked: ") + failure.what());
    choice.gpus_refused = true;
    return choice;
  }
}

}  // namespace

machine this_machine(unsigned threads) {
  return {.num_processors = base::resolve_threads(threads),
          .num_gpus = num_gpus,
          .check_gpus = [] { const gpu_call call(base::test_hooks{}); },
          .free_gpu_bytes =
              [](int ordinal) {
                const gpu_call call(base::test_hooks{});
                return free_gpu_bytes(ordinal);
              },
          .gpus_are_started = gpus_are_started(),
          .missed_s = missed_by_process_s.load(std::memory_order_relaxed)};
}

void remember_missed(const device_choice& followed) noexcept {
  if (followed.gpus_refused) {
    missed_by_process_s.store(0, std::memory_order_relaxed);
  } else {
    missed_by_process_s.fetch_add(followed.missed_with_open_s, std::memory_order_relaxed);
  }
}

device_choice choose_devices(const device_set& asked_for, const sort_demand& sort, const machine& on) {
  const bool names_several = !asked_for.gpus.empty() || asked_for.count > 1;
  const bool has_few_keys = !names_several && sort.algorithm.runs_inline && sort.num_keys <= sort.inline_keys;
  if (!asked_for.is_auto) return {.list = asked_for, .has_few_keys = has_few_keys};
  device_choice choice = choose_of_auto(sort, on);
  choice.has_few_keys = has_few_keys;
  return choice;
}

}  // namespace spansort::sorting
