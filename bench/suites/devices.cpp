// SPDX-License-Identifier: Apache-2.0
#include "bench/suites/devices.hpp"

#include <algorithm>
#include <spansort/device_list.hpp>
#include <spansort/devices.hpp>

namespace bench {
namespace {

using spansort::device_list;

/// "gpu:0,1,2,3" of all GPUs here, "" where there is none that can be used.
std::string all_gpus() {
  if (!spansort::why_no_gpu().empty()) return "";
  std::vector<int> ordinals;
  for (const spansort::device_description& found : spansort::list_devices()) {
    if (found.name.starts_with("gpu:")) ordinals.push_back(static_cast<int>(ordinals.size()));
  }
  return ordinals.empty() ? "" : spansort::to_string(device_list::gpus(ordinals));
}

void add_new(std::vector<std::string>& to, const std::string& list) {
  if (!list.empty() && std::ranges::find(to, list) == to.end()) to.push_back(list);
}

std::string cut(const device_list& list, std::size_t count) {
  if (list.what() == device_list::kind::host) {
    return spansort::to_string(device_list::host(static_cast<unsigned>(count)));
  }
  const auto first = list.ordinals().begin();
  return spansort::to_string(device_list::gpus({first, first + static_cast<std::ptrdiff_t>(count)}));
}

}  // namespace

std::vector<std::string> resolve_devices(const std::vector<std::string>& lists) {
  std::vector<std::string> found;
  for (const std::string& text : lists.empty() ? std::vector<std::string>{"auto"} : lists) {
    const device_list list(text);
    const bool is_automatic = list.what() == device_list::kind::automatic;
    if (is_automatic) add_new(found, "cpu");
    if (is_automatic || text == "gpu") {
      // The text "gpu" stays as it is without a GPU, and each contender says why it cannot have one.
      const std::string gpus = all_gpus();
      add_new(found, gpus.empty() && text == "gpu" ? "gpu:0" : gpus);
    } else {
      add_new(found, spansort::to_string(list));
    }
  }
  return found;
}

std::vector<std::string> first_devices(const std::vector<std::string>& lists) {
  std::vector<std::string> found;
  for (const std::string& text : lists) add_new(found, is_gpu(text) ? cut(device_list(text), 1) : "cpu");
  return found;
}

std::vector<std::string> prefixes(const std::vector<std::string>& lists) {
  std::vector<std::string> found;
  for (const std::string& text : lists) {
    const device_list list(text);
    const std::size_t count = std::max<std::size_t>(list.count(), list.ordinals().size());
    for (std::size_t used = 1; used < count; used *= 2) add_new(found, cut(list, used));
    add_new(found, text);
  }
  return found;
}

bool is_gpu(const std::string& list) { return list.starts_with("gpu"); }

int first_gpu(const std::string& list) { return device_list(list).ordinals().front(); }

}  // namespace bench
