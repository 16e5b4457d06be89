// SPDX-License-Identifier: Apache-2.0
#include "cli/report_json.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "spansort/devices.hpp"
#include "spansort/version.hpp"

namespace cli {
namespace {

nlohmann::ordered_json described_host() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) name[0] = '\0';
  const spansort::host_description host = spansort::describe_host();
  return {{"name", name.data()},
          {"model", host.model},
          {"vectors", host.vector_target},
          {"num_processors", host.num_processors},
          {"memory_bytes", host.memory_bytes}};
}

nlohmann::ordered_json described(const known_file& file) {
  nlohmann::ordered_json size = nullptr;
  if (file.size_bytes) size = *file.size_bytes;
  return {{"path", file.path}, {"size_bytes", size}};
}

std::uint64_t peak_memory_bytes() {
  rusage usage{};
  return ::getrusage(RUSAGE_SELF, &usage) == 0 ? static_cast<std::uint64_t>(usage.ru_maxrss) * 1024 : 0;
}

}  // namespace

std::string report_json(const finished_operation& done) {
  nlohmann::ordered_json document = {{"spansort", SPANSORT_VERSION}, {"host", described_host()}};
  document["inputs"] = nlohmann::ordered_json::array();
  for (const known_file& input : done.inputs) document["inputs"].push_back(described(input));
  document["output"] = described(done.output);
  document["record_bytes"] = done.result.record_bytes;
  document["num_keys_out"] = done.result.num_keys_out;
  document["verified"] = done.result.verified;
  document["num_runs"] = done.result.num_runs;
  document["peak_memory_bytes"] = peak_memory_bytes();
  document.update(nlohmann::ordered_json::parse(spansort::to_json(done.report)));
  // A path need not be text.
  return document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace cli
