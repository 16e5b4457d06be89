// SPDX-License-Identifier: Apache-2.0
#include "bench/gpu/metadata.hpp"

#include <cuda_runtime_api.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <spansort/devices.hpp>
#include <spansort/version.hpp>
#include <thread>

#include "bench/circumstances.hpp"
#include "bench/gpu/local_race.hpp"
#include "device/cuda/cuda_error.hpp"
#include "device/cuda/kernels/request.hpp"
#include "device/cuda/tuning/tuning_report.hpp"

namespace bench {
namespace {

namespace cuda = spansort::device::cuda;
using json = nlohmann::ordered_json;

/// The kernel module's version, which the runtime does not tell: "580.65.06".
std::string driver_version() {
  std::ifstream file("/proc/driver/nvidia/version");
  std::string word;
  while (file >> word) {
    if (word.find_first_not_of("0123456789.") == std::string::npos && word.find('.') != std::string::npos) return word;
  }
  return "unknown";
}

json gpu_json(int ordinal) {
  cudaDeviceProp properties{};
  cuda::check(cudaGetDeviceProperties(&properties, ordinal), "cudaGetDeviceProperties");
  const cuda::device_guard guard(ordinal);
  return {{"ordinal", ordinal},
          {"name", properties.name},
          {"compute_capability", std::to_string(properties.major) + "." + std::to_string(properties.minor)},
          {"memory_bytes", properties.totalGlobalMem},
          {"num_multiprocessors", properties.multiProcessorCount},
          {"tuning", json::parse(cuda::to_json(cuda::compiled_for()))}};
}

/// Returns whether every GPU of the list can reach every other's memory.
bool all_peers_reachable(const std::vector<int>& devices) {
  for (const int from : devices) {
    for (const int to : devices) {
      int reachable = 1;
      if (from != to) cuda::check(cudaDeviceCanAccessPeer(&reachable, from, to), "cudaDeviceCanAccessPeer");
      if (reachable == 0) return false;
    }
  }
  return true;
}

}  // namespace

json metadata(const settings& s, const std::string& command, const std::string& shrunk) {
  int driver_cuda = 0, runtime_cuda = 0;
  cuda::check(cudaDriverGetVersion(&driver_cuda), "cudaDriverGetVersion");
  cuda::check(cudaRuntimeGetVersion(&runtime_cuda), "cudaRuntimeGetVersion");
  json gpus = json::array();
  for (const int ordinal : s.devices) gpus.push_back(gpu_json(ordinal));
  const spansort::device_description host = spansort::list_devices().front();
  return {{"benchmark", "gpu"},
          {"version", SPANSORT_VERSION},
          {"commit", s.commit},
          {"command", command},
          {"date", date_today()},
          {"device", gpus.front()["name"]},
          {"num_gpus", s.devices.size()},
          {"gpus", gpus},
          {"all_peers_reachable", all_peers_reachable(s.devices)},
          {"driver", driver_version()},
          {"driver_cuda", driver_cuda},
          {"runtime_cuda", runtime_cuda},
          {"cub", cub_version()},
          {"host", host.model},
          {"host_threads", std::thread::hardware_concurrency()},
          {"host_memory_bytes", host.memory_bytes},
          {"seed", s.seed},
          {"num_keys", static_cast<std::uint64_t>(s.num_keys)},
          {"shrunk", shrunk},
          {"repeats", s.repeats},
          {"statistic", "median of runs_ms"}};
}

}  // namespace bench
