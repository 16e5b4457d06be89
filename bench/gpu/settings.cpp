// SPDX-License-Identifier: Apache-2.0
#include "bench/gpu/settings.hpp"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <spansort/devices.hpp>
#include <spansort/errors.hpp>

#include "device/cuda/cuda_error.hpp"

namespace bench {
namespace {

namespace cuda = spansort::device::cuda;

constexpr double gib = 1024.0 * 1024 * 1024;

/// Bytes free on the fullest GPU of the list. One GPU alone takes all keys of a case, so the sizes of others do not
/// help.
double free_gpu_bytes(const std::vector<int>& devices) {
  std::size_t fewest = ~std::size_t{0};
  for (const int ordinal : devices) {
    const cuda::device_guard guard(ordinal);
    std::size_t free_bytes = 0, total_bytes = 0;
    cuda::check(cudaMemGetInfo(&free_bytes, &total_bytes), "cudaMemGetInfo");
    fewest = std::min(fewest, free_bytes);
  }
  return static_cast<double>(fewest);
}

double free_host_bytes() {
  std::uint64_t most = 0;  // every node of the host tells what the whole process can have
  for (const spansort::device_description& d : spansort::list_devices()) {
    if (!d.name.starts_with("gpu:")) most = std::max(most, d.available_bytes);
  }
  return static_cast<double>(most);
}

}  // namespace

void resolve_devices(settings& s) {
  int num_gpus = 0;
  cuda::check(cudaGetDeviceCount(&num_gpus), "cudaGetDeviceCount");
  if (s.devices.empty()) {
    for (int i = 0; i < num_gpus; ++i) s.devices.push_back(i);
  }
  for (const int ordinal : s.devices) {
    if (ordinal < 0 || ordinal >= num_gpus) {
      throw spansort::device_error(fmt::format("there is no GPU {}; this machine has {}", ordinal, num_gpus));
    }
  }
  if (s.devices.size() > s.max_gpus) s.devices.resize(s.max_gpus);
}

std::uint64_t larger_input_bytes(const settings& s) { return 4 * s.device_memory_bytes * s.devices.size(); }

std::string shrink_to_memory(settings& s) {
  // A GPU alone: the keys, as many of workspace, slack and scratch, or a saved copy where the sort needs no workspace.
  const double gpu_keys = (free_gpu_bytes(s.devices) - 2 * gib) / (2.1 * sizeof(std::uint32_t));
  // The host: the input, a pinned and a pageable array to sort; a fifth is left to everybody else.
  const double host_keys = 0.8 * free_host_bytes() / (3.0 * sizeof(std::uint32_t));
  const double fitting = std::max(0.0, std::min(gpu_keys, host_keys));
  if (s.num_keys <= fitting) return "";
  if (fitting < 1'000'000) throw spansort::out_of_memory("there is room for less than a million keys", 12'000'000, 0);
  const double wanted = s.num_keys;
  s.num_keys = fitting - static_cast<double>(static_cast<std::uint64_t>(fitting) % 1'000'000);
  return fmt::format("{:.0f} keys do not fit into the memory of the {}; {:.0f} it is", wanted,
                     gpu_keys < host_keys ? "GPU" : "host", s.num_keys);
}

}  // namespace bench
