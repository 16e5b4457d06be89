// SPDX-License-Identifier: Apache-2.0
#include "spansort/devices.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/threads.hpp"
#include "device/host/topology.hpp"
#include "sort/gpu_devices.hpp"
#include "sort/open_devices.hpp"
#include "spansort/errors.hpp"

namespace spansort {

std::vector<device_description> list_devices() {
  std::vector<device_description> descriptions;
  const auto describe = [&](const device::device& device) {
    const device::device_info info = device.info();
    descriptions.push_back({.name = device.name(),
                            .model = info.model,
                            .num_threads = device.num_threads(),
                            .memory_bytes = info.memory_bytes,
                            .available_bytes = device.available_bytes(),
                            .numa_node = info.numa_node,
                            .vector_target = info.vector_target});
  };
  for (const auto& device : sorting::open_devices({}, {})) describe(*device);
  for (int i = 0; i < sorting::num_gpus(); ++i) {
    try {
      describe(*sorting::open_gpu(i, {}));
    } catch (const error& unusable) {
      descriptions.push_back({.name = fmt::format("gpu:{}", i), .model = unusable.what()});
    }
  }
  return descriptions;
}

host_description describe_host() {
  host_description host;
  for (const auto& device : sorting::open_devices({}, {})) {
    const device::device_info info = device->info();
    host.model = info.model;
    host.vector_target = info.vector_target;
    host.memory_bytes += info.memory_bytes;
    host.available_bytes = device->available_bytes();
  }
  host.num_cores = device::host::num_cores();
  host.num_hardware_threads = device::host::num_hardware_threads();
  host.num_processors = base::num_processors();
  host.num_numa_nodes = device::host::num_numa_nodes();
  return host;
}

unsigned num_processors() { return base::num_processors(); }

std::string devices_json() {
  using json = nlohmann::ordered_json;
  json devices = json::array();
  for (const device_description& d : list_devices()) {
    devices.push_back({{"name", d.name},
                       {"model", d.model},
                       {"num_threads", d.num_threads},
                       {"memory_bytes", d.memory_bytes},
                       {"available_bytes", d.available_bytes},
                       {"numa_node", d.numa_node},
                       {"vector_target", d.vector_target}});
  }
  json links = json::array();
  for (const link_description& l : list_links()) {
    links.push_back({{"from", l.from},
                     {"to", l.to},
                     {"works", l.works},
                     {"why_not", l.why_not},
                     {"gigabytes_per_s", l.gigabytes_per_s}});
  }
  const host_description host = describe_host();
  const json of_host{{"model", host.model},
                     {"vector_target", host.vector_target},
                     {"num_cores", host.num_cores},
                     {"num_hardware_threads", host.num_hardware_threads},
                     {"num_numa_nodes", host.num_numa_nodes},
                     {"memory_bytes", host.memory_bytes},
                     {"available_bytes", host.available_bytes}};
  return json{{"num_processors", host.num_processors},
              {"host", of_host},
              {"devices", devices},
              {"links", links},
              {"gpu", why_no_gpu()}}
      .dump(2);
}

}  // namespace spansort
