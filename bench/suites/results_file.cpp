// SPDX-License-Identifier: Apache-2.0
#include "bench/suites/results_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <nlohmann/json.hpp>
#include <spansort/errors.hpp>

namespace bench {
namespace {

using json = nlohmann::ordered_json;

std::string name_of(const std::string& figure, const case_spec& spec) {
  std::string name = fmt::format("{} {} {} {}", figure, spec.type, spec.distribution, spec.num_keys);
  if (spec.radix_bits != 0) name += fmt::format(" {} bits", spec.radix_bits);
  if (spec.device_memory_bytes != 0) name += fmt::format(" in {} bytes a device", spec.device_memory_bytes);
  return name;
}

}  // namespace

std::vector<double> runs_of(const json& result) { return result.value("runs_ms", std::vector<double>{}); }

std::string contender_name(const json& result) {
  return fmt::format("{} {} {}", result.at("name").get<std::string>(), result.at("devices").get<std::string>(),
                     result.at("data").get<std::string>());
}

json read_cases(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw spansort::io_error("cannot read " + path, errno);
  try {
    json document = json::parse(file);
    // Whoever reads them need not expect that something is missing.
    for (const json& one : document.at("cases")) {
      static_cast<void>(case_name(one));
      for (const json& result : one.at("results")) {
        static_cast<void>(contender_name(result));
        static_cast<void>(runs_of(result));
      }
    }
    return document.at("cases");
  } catch (const json::exception& e) {
    throw spansort::bad_input(fmt::format("{} is no result of spansort bench papers or multi-gpu: {}", path, e.what()));
  }
}

std::string case_name(const json& one) {
  case_spec spec{one.at("type"), one.at("distribution"), one.at("num_keys")};
  spec.radix_bits = one.value("radix_bits", 0U);
  spec.device_memory_bytes = one.value("device_memory_bytes", std::uint64_t{0});
  return name_of(one.at("figure"), spec);
}

std::string case_name(const figure& of, const case_spec& spec) { return name_of(of.name, spec); }

std::set<std::string> names_of_measured(const std::vector<std::string>& paths) {
  std::set<std::string> names;
  for (const std::string& path : paths) {
    for (const json& one : read_cases(path)) {
      if (std::ranges::any_of(one.at("results"), [](const json& result) { return !runs_of(result).empty(); }))
        names.insert(case_name(one));
    }
  }
  return names;
}

}  // namespace bench
