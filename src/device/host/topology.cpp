// SPDX-License-Identifier: Apache-2.0
#include "device/host/topology.hpp"

#include <hwloc.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "base/threads.hpp"

namespace spansort::device::host {
namespace {

/// Loaded once, then constant. Empty handle where hwloc fails: then one node and the processors the system reports.
class topology {
 public:
  static const topology& get() {
    static const topology t;
    return t;
  }

  topology() {
    if (hwloc_topology_init(&handle_) != 0) return;
    // Nodes and processors that the caller has excluded (taskset, numactl) are not ours to use.
    static_cast<void>(hwloc_topology_set_flags(
        handle_, HWLOC_TOPOLOGY_FLAG_IS_THISSYSTEM | HWLOC_TOPOLOGY_FLAG_RESTRICT_TO_CPUBINDING));
    if (hwloc_topology_load(handle_) != 0) {
      hwloc_topology_destroy(handle_);
      return;
    }
    loaded_ = true;
    for (hwloc_obj_t node = nullptr;
         (node = hwloc_get_next_obj_by_type(handle_, HWLOC_OBJ_NUMANODE, node)) != nullptr;) {
      if (!hwloc_bitmap_iszero(node->cpuset)) nodes_.push_back(node);
    }
  }
  ~topology() {
    if (loaded_) hwloc_topology_destroy(handle_);
  }
  topology(const topology&) = delete;
  topology& operator=(const topology&) = delete;

  [[nodiscard]] bool loaded() const noexcept { return loaded_; }
  [[nodiscard]] hwloc_topology_t handle() const noexcept { return handle_; }
  [[nodiscard]] const std::vector<hwloc_obj_t>& nodes() const noexcept { return nodes_; }
  [[nodiscard]] unsigned count(hwloc_obj_type_t type) const noexcept {
    const int found = loaded_ ? hwloc_get_nbobjs_by_type(handle_, type) : 0;
    return static_cast<unsigned>(std::max(found, 0));
  }
  [[nodiscard]] hwloc_obj_t node(int index) const noexcept {
    const auto i = static_cast<std::size_t>(index);
    return index >= 0 && i < nodes_.size() ? nodes_[i] : nullptr;
  }

 private:
  hwloc_topology_t handle_ = nullptr;
  bool loaded_ = false;
  std::vector<hwloc_obj_t> nodes_;
};

}  // namespace

unsigned num_cores() { return topology::get().count(HWLOC_OBJ_CORE); }

unsigned num_hardware_threads() { return topology::get().count(HWLOC_OBJ_PU); }

unsigned num_processors() { return base::num_processors(); }

unsigned num_numa_nodes() { return static_cast<unsigned>(std::max<std::size_t>(1, topology::get().nodes().size())); }

std::string processor_model() {
  const topology& t = topology::get();
  if (!t.loaded()) return "unknown processor";
  const hwloc_obj_t package = hwloc_get_obj_by_type(t.handle(), HWLOC_OBJ_PACKAGE, 0);
  const char* model = package == nullptr ? nullptr : hwloc_obj_get_info_by_name(package, "CPUModel");
  return model == nullptr ? "unknown processor" : model;
}

std::uint64_t last_level_cache_bytes() {
  // The system is asked directly: hwloc would take milliseconds to be loaded.
  std::ifstream file("/sys/devices/system/cpu/cpu0/cache/index3/size");
  std::uint64_t size = 0;
  std::string unit;
  if (!(file >> size >> unit)) return 0;
  return unit == "K" ? size << 10 : unit == "M" ? size << 20 : 0;
}

std::uint64_t total_memory_bytes(int node) {
  const hwloc_obj_t object = node < 0 ? nullptr : topology::get().node(node);
  if (object != nullptr && object->attr->numanode.local_memory != 0) return object->attr->numanode.local_memory;
  return static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

void bind_thread_to_node(int node) noexcept {
  const topology& t = topology::get();
  const hwloc_obj_t object = t.node(node);
  if (object != nullptr) static_cast<void>(hwloc_set_cpubind(t.handle(), object->cpuset, HWLOC_CPUBIND_THREAD));
}

void unbind_thread() noexcept {
  const topology& t = topology::get();
  if (!t.loaded()) return;
  static_cast<void>(hwloc_set_cpubind(t.handle(), hwloc_topology_get_allowed_cpuset(t.handle()), HWLOC_CPUBIND_THREAD));
}

void bind_memory_to_node(void* data, std::uint64_t size_bytes, int node) noexcept {
  const topology& t = topology::get();
  const hwloc_obj_t object = t.node(node);
  if (object == nullptr || t.nodes().size() < 2) return;
  static_cast<void>(hwloc_set_area_membind(t.handle(), data, size_bytes, object->nodeset, HWLOC_MEMBIND_BIND,
                                           HWLOC_MEMBIND_BYNODESET));
}

}  // namespace spansort::device::host
