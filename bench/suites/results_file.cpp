// SPDX-License-Identifier: Apache-2.0
#include "bench/suites/results_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <spansort/errors.hpp>
#include <string_view>
#include <system_error>
#include <utility>

namespace bench {
namespace {

using json = nlohmann::ordered_json;

std::string name_of(const std::string& figure, const case_spec& spec) {
  std::string name = fmt::format("{} {} {} {}", figure, spec.type, spec.distribution, spec.num_keys);
  if (spec.radix_bits != 0) name += fmt::format(" {} bits", spec.radix_bits);
  if (spec.device_memory_bytes != 0) name += fmt::format(" in {} bytes a device", spec.device_memory_bytes);
  return name;
}

void drop(json& from, std::initializer_list<const char*> fields) {
  for (const char* const field : fields) from.erase(field);
}

void require_times(const std::string& path, const std::vector<double>& runs_ms) {
  if (std::ranges::all_of(runs_ms, [](double ms) { return ms > 0; })) return;
  throw spansort::bad_input(path + ": a run has a time that is not above 0");
}

}  // namespace

std::vector<double> runs_of(const json& result) { return result.value("runs_ms", std::vector<double>{}); }

std::string contender_name(const json& result) {
  std::string name = result.at("name");
  for (const char* const field : {"devices", "data"}) {
    if (result.contains(field)) name = fmt::format("{} {}", name, result.at(field).get<std::string>());
  }
  return name;
}

std::string message_of(const json::exception& failure) {
  const std::string_view what = failure.what();
  const std::size_t end_of_code = what.find("] ");  // of "[json.exception.parse_error.101] parse error at line 1 ..."
  return std::string(end_of_code == what.npos ? what : what.substr(end_of_code + 2));
}

json read_json(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) throw spansort::bad_input(path + " is a directory");
  std::ifstream file(path);
  if (!file) throw spansort::io_error("cannot read " + path, errno);
  return json::parse(file);
}

std::string dense_text(json document) {
  for (json& one : document.at("cases")) {
    for (json& result : one.at("results")) drop(result, {"devices", "data"});
  }
  std::string text = "{\n\"meta\": " + document.at("meta").dump(1);
  for (const char* const list : {"cases", "left_out"}) {
    text += fmt::format(",\n\"{}\": [", list);
    const char* separator = "\n";
    for (json& one : document.at(list)) {
      drop(one, {"source", "place", "seed"});
      text += std::exchange(separator, ",\n") + one.dump();
    }
    text += "\n]";
  }
  return text + "\n}";
}

json read_cases(const std::string& path) {
  try {
    const json document = read_json(path);
    // Whoever reads them need not expect that something is missing.
    for (const json& one : document.at("cases")) {
      static_cast<void>(case_name(one));
      for (const json& result : one.at("results")) {
        static_cast<void>(contender_name(result));
        require_times(path, runs_of(result));
      }
    }
    return document.at("cases");
  } catch (const json::exception& e) {
    throw spansort::bad_input(
        fmt::format("{} is no result of spansort bench papers, multi-gpu or cpu: {}", path, message_of(e)));
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
