// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>
#include <spansort/errors.hpp>

#include "bench/suites/gpu/gpu.hpp"

namespace bench {
namespace {

[[noreturn]] void refuse() { throw spansort::device_error("this build has no GPU backend", "gpu"); }

}  // namespace

bool gpu_is_absent() { return true; }

host_memory allocate_pinned(std::uint64_t) { refuse(); }

contender resident_contender(const spansort::sort_options&, int, input&) { refuse(); }

std::vector<candidate> gpu_baselines(int ordinal) {
  const std::string devices = "gpu:" + std::to_string(ordinal);
  const auto make = [](input&) -> contender { refuse(); };
  return {{"cub", devices, "resident", make}, {"thrust", devices, "resident", make}};
}

nlohmann::ordered_json gpu_software() { return nullptr; }

}  // namespace bench
