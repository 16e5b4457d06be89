// SPDX-License-Identifier: Apache-2.0
// This file makes what --list says. Where it can be tried whether a device has an algorithm, it is tried, on a few
// keys.
#include <fmt/format.h>

#include <numeric>
#include <spansort/devices.hpp>
#include <spansort/sort.hpp>

#include "bench/suites/candidate.hpp"
#include "bench/suites/gpu/gpu.hpp"
#include "bench/suites/suite.hpp"

namespace bench {
namespace {

struct other_sort {
  const char* name;
  const char* devices;
  const char* description;
};
constexpr other_sort over_mpi[] = {
    {"distributed_rmg", "node ranks", "over MPI, by spansort sort --mpi and ./dev bench mpi"},
    {"distributed_lsd", "node ranks", "over MPI, by spansort sort --mpi and ./dev bench mpi"},
    {"distributed_sample_sort", "node ranks", "over MPI, by spansort sort --mpi and ./dev bench mpi"},
};
constexpr other_sort baselines[] = {
    {"gnu_parallel", "cpu", "baseline: __gnu_parallel::sort of GCC"},
    {"tbb", "cpu", "baseline: tbb::parallel_sort"},
    {"std_par", "cpu", "baseline: std::sort(std::execution::par)"},
    {"std_sort", "cpu", "baseline: std::sort, one thread"},
    {"vqsort", "cpu", "baseline: vqsort of Highway, one thread"},
    {"boost_block_indirect", "cpu",
     "baseline of suite cpu: boost::sort::block_indirect_sort, where Boost is installed"},
    {"boost_stable", "cpu", "baseline of suite cpu: boost::sort::parallel_stable_sort, where Boost is installed"},
    {"ips4o", "cpu", "baseline of suite cpu: ips4o::parallel::sort, where IPS4o is installed"},
    {"cub", "gpu", "baseline: cub::DeviceRadixSort, data resident"},
    {"thrust", "gpu", "baseline: thrust::sort, data resident"},
};

/// Returns why a few keys cannot be sorted so, "" when they can.
std::string why_not(spansort::algorithm algorithm, const char* devices) {
  std::vector<std::uint32_t> keys(10'000);
  std::iota(keys.rbegin(), keys.rend(), 0U);
  try {
    spansort::sort(keys, {.devices = devices, .algorithm = algorithm});
  } catch (const spansort::error& e) {
    return e.what();
  }
  return spansort::is_sorted(keys) ? "" : "the result is wrong";
}

void print_line(std::string_view name, std::string_view devices, std::string_view description) {
  fmt::print("{:<24} {:<16} {}\n", name, devices, description);
}

}  // namespace

void print_algorithms() {
  const std::string no_gpu = gpu_is_absent() ? "this build has no GPU backend" : spansort::why_no_gpu();
  std::vector<std::string> refusals;
  for (const spansort::algorithm algorithm : spansort::list_algorithms()) {
    std::string devices;
    for (const char* const device : {"cpu", "host:4", "gpu"}) {
      if (device == std::string_view("gpu") && !no_gpu.empty()) continue;
      const std::string reason = why_not(algorithm, device);
      if (reason.empty()) devices += (devices.empty() ? "" : " ") + std::string(device);
      if (!reason.empty()) refusals.push_back(fmt::format("  {} on {}: {}", name(algorithm), device, reason));
    }
    print_line(name(algorithm), devices.empty() ? "none here" : devices, description(algorithm));
  }
  for (const other_sort& sort : over_mpi) print_line(sort.name, sort.devices, sort.description);
  for (const other_sort& sort : baselines) print_line(sort.name, sort.devices, sort.description);
  if (!no_gpu.empty()) fmt::print("\nGPUs were not tried: {}\n", no_gpu);
  if (!refusals.empty()) fmt::print("\nRefused here:\n");
  for (const std::string& refusal : refusals) fmt::print("{}\n", refusal);
}

}  // namespace bench
