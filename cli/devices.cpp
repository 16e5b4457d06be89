// SPDX-License-Identifier: Apache-2.0
// spansort devices: what can sort on this machine.
#include "spansort/devices.hpp"

#include <fmt/format.h>

#include <memory>
#include <string>

#include "cli/common.hpp"
#include "cli/numbers.hpp"
#include "cli/program.hpp"

namespace cli {
namespace {

std::string counted(unsigned count, const char* what) {
  if (count == 0) return fmt::format("unknown {}s", what);
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

/// Says what holds for all host devices together.
std::string host_text(const spansort::host_description& host) {
  return fmt::format("CPU: {}, {}, of which {} processors may be used; sorts use {}\nmemory: {} in {}, {} free\n",
                     counted(host.num_cores, "core"), counted(host.num_hardware_threads, "thread"), host.num_processors,
                     host.vector_target, bytes_text(host.memory_bytes), counted(host.num_numa_nodes, "NUMA node"),
                     bytes_text(host.available_bytes));
}

int run_devices(bool as_json) {
  if (as_json) {
    print(spansort::devices_json() + "\n");
    return status_ok;
  }
  constexpr const char* row = "{:<8} {:>7} {:>11} {:>11} {:>5}  {:<10} {}\n";
  std::string table = fmt::format(fmt::runtime(row), "device", "threads", "memory", "free", "node", "vectors", "model");
  for (const spansort::device_description& device : spansort::list_devices()) {
    table +=
        fmt::format(fmt::runtime(row), device.name, device.num_threads, bytes_text(device.memory_bytes),
                    bytes_text(device.available_bytes), device.numa_node < 0 ? "-" : std::to_string(device.numa_node),
                    device.vector_target, device.model);
  }
  table += host_text(spansort::describe_host());
  for (const spansort::link_description& link : spansort::list_links()) {
    const std::string found = link.works ? fmt::format("{:.0f} GB/s", link.gigabytes_per_s)
                                         : fmt::format("by way of host memory: {}", link.why_not);
    table += fmt::format("{} -> {}  {}\n", link.from, link.to, found);
  }
  if (const std::string why = spansort::why_no_gpu(); !why.empty()) table += why + "\n";
  print(table);
  return status_ok;
}

}  // namespace

void add_devices_command(CLI::App& app, command_action& action) {
  CLI::App* const command = app.add_subcommand("devices", "List the devices that can sort on this machine");
  const auto as_json = std::make_shared<bool>(false);
  command->add_flag("--json", *as_json, "As JSON");
  command->footer(verb_footer({"spansort devices"}, {0, 2}));
  command->callback([as_json, &action] { action = [as_json] { return run_devices(*as_json); }; });
}

}  // namespace cli
