// SPDX-License-Identifier: Apache-2.0
// The text of a device list, read and written.
#include "spansort/device_list.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <system_error>

#include "spansort/errors.hpp"

namespace spansort {
namespace {

constexpr unsigned most_host_devices = 256;
constexpr std::size_t most_gpu_ranks = 64;

/// Reads all of `text` as a number, or gives -1.
int parse_number(std::string_view text) {
  int number = -1;
  const std::from_chars_result end = std::from_chars(text.data(), text.data() + text.size(), number);
  return end.ec == std::errc() && end.ptr == text.data() + text.size() ? number : -1;
}

unsigned parse_host_count(std::string_view list, std::string_view text) {
  const int count = parse_number(text);
  if (count >= 1 && static_cast<unsigned>(count) <= most_host_devices) return static_cast<unsigned>(count);
  throw invalid_argument(
      fmt::format("device list '{}': expected host:N with N from 1 to {}, found '{}'", list, most_host_devices, text));
}

std::vector<int> parse_ordinals(std::string_view list, std::string_view text) {
  std::vector<int> ordinals;
  while (true) {
    const std::size_t comma = std::min(text.find(','), text.size());
    ordinals.push_back(parse_number(text.substr(0, comma)));
    if (ordinals.back() < 0) {
      throw invalid_argument(fmt::format("device list '{}': expected gpu:I,J,... with numbers of GPUs, found '{}'",
                                         list, text.substr(0, comma)));
    }
    if (ordinals.size() > most_gpu_ranks) {
      throw invalid_argument(fmt::format("device list '{}': more than {} GPUs", list, most_gpu_ranks));
    }
    if (comma == text.size()) return ordinals;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace

device_list::device_list(std::string_view text) {
  if (text == "auto") return;
  if (text == "cpu") {
    kind_ = kind::cpu;
  } else if (text == "gpu") {
    kind_ = kind::gpu;
  } else if (text.starts_with("host:")) {
    kind_ = kind::host;
    count_ = parse_host_count(text, text.substr(5));
  } else if (text.starts_with("gpu:")) {
    kind_ = kind::gpu;
    ordinals_ = parse_ordinals(text, text.substr(4));
  } else if (text.starts_with("cpu:")) {
    throw invalid_argument(
        fmt::format("unknown device list '{}': '{}' threads are asked for by the option threads, {} "
                    "host devices by host:{}",
                    text, text.substr(4), text.substr(4), text.substr(4)));
  } else {
    throw invalid_argument(fmt::format("unknown device list '{}'; known: auto, cpu, host:N, gpu, gpu:I,J,...", text));
  }
}

device_list device_list::host(unsigned count) { return device_list(fmt::format("host:{}", count)); }

device_list device_list::gpus(std::vector<int> ordinals) {
  return device_list(fmt::format("gpu:{}", fmt::join(ordinals, ",")));
}

std::string to_string(const device_list& devices) {
  switch (devices.what()) {
    case device_list::kind::cpu: return "cpu";
    case device_list::kind::host: return fmt::format("host:{}", devices.count());
    case device_list::kind::gpu:
      return devices.ordinals().empty() ? "gpu" : fmt::format("gpu:{}", fmt::join(devices.ordinals(), ","));
    case device_list::kind::automatic: break;
  }
  return "auto";
}

}  // namespace spansort
