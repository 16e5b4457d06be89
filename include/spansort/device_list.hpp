// SPDX-License-Identifier: Apache-2.0
// A device_list says which devices a call works on. Every option struct with a `devices` takes one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "spansort/cxx20.hpp"

namespace spansort {

/// The devices of a call, in rank order. It is made from its text, so that options read as the command line does:
///     spansort::sort(keys, {.devices = "gpu:0,1"});
/// or by name: `device_list::host(4)`. A list may repeat a GPU, and there may be more host devices than processors: the
/// program for several devices then runs on fewer, or on none.
class device_list {
 public:
  enum class kind : std::uint8_t {
    automatic,  ///< what is fastest for the input: the CPU, one GPU or several
    cpu,        ///< all processors that the process may use; sorts with `rmg` take one host device a NUMA node
    host,       ///< as many host devices as count() says, which share the processors
    gpu,        ///< the GPUs of ordinals(); all GPUs of the machine where that is empty
  };

  /// "auto".
  device_list() = default;
  /// Reads "auto", "cpu", "host:4", "gpu" or "gpu:0,1,2". Throws invalid_argument for anything else, naming what is
  /// known. Whether the machine has such devices is not looked at before they are opened (device_error then).
  device_list(std::string_view text);
  device_list(const char* text) : device_list(std::string_view(text)) {}
  device_list(const std::string& text) : device_list(std::string_view(text)) {}

  [[nodiscard]] static device_list cpu() { return device_list("cpu"); }
  /// `count` host devices, 1 to 256. Throws invalid_argument for any other count.
  [[nodiscard]] static device_list host(unsigned count);
  /// All GPUs of the machine.
  [[nodiscard]] static device_list gpus() { return device_list("gpu"); }
  /// GPUs by number, 1 to 64 of them, in rank order. Throws invalid_argument for any other count and negative numbers.
  [[nodiscard]] static device_list gpus(std::vector<int> ordinals);

  [[nodiscard]] kind what() const noexcept { return kind_; }
  /// The number of host devices; 0 for all other kinds.
  [[nodiscard]] unsigned count() const noexcept { return count_; }
  /// The GPUs in rank order; empty for all GPUs of the machine and for other kinds.
  [[nodiscard]] const std::vector<int>& ordinals() const noexcept { return ordinals_; }

  friend bool operator==(const device_list&, const device_list&) = default;

 private:
  kind kind_ = kind::automatic;
  unsigned count_ = 0;
  std::vector<int> ordinals_ = {};
};

/// Returns the text that makes the same list.
[[nodiscard]] std::string to_string(const device_list& devices);

}  // namespace spansort
