// SPDX-License-Identifier: Apache-2.0
#include "statistics/sorted_copy.hpp"

#include <cstring>

#include "spansort/sort.hpp"
#include "statistics/mean.hpp"
#include "statistics/sorted_keys.hpp"

namespace spansort::statistics {
namespace {

/// Memory for a copy of more is new each time, and its pages cost more than the sort wins.
constexpr std::uint64_t most_bytes = std::uint64_t{2} << 20;

}  // namespace

bool is_cpu(const device_list& devices) noexcept {
  return devices.what() == device_list::kind::automatic || devices.what() == device_list::kind::cpu;
}

bool is_best_sorted(const const_key_span& keys, key_order order, const device_list& devices) noexcept {
  return is_cpu(devices) && order == key_order::unknown && keys.num_keys <= most_bytes / size_bytes(keys.type);
}

std::unique_ptr<ordered_keys> open_sorted_copy(const const_key_span& keys, unsigned threads) {
  const std::size_t width = size_bytes(keys.type);
  const auto sorted = std::make_shared<base::byte_buffer>(keys.num_keys * width);
  if (keys.num_keys != 0) std::memcpy(sorted->data(), keys.data, sorted->size());
  sort_options options;
  options.devices = device_list::cpu();
  options.threads = threads;
  sort(key_span{keys.type, sorted->data(), keys.num_keys}, direction::ascending, options);
  return std::make_unique<sorted_keys>(
      sorted_source{.type = keys.type,
                    .num_keys = keys.num_keys,
                    .is_descending = false,
                    .read =
                        [sorted, width](std::uint64_t begin, std::uint64_t count, void* to) {
                          if (count != 0) std::memcpy(to, sorted->data() + begin * width, count * width);
                        },
                    .mean = [keys] { return mean(keys); }},
      false);
}

}  // namespace spansort::statistics
