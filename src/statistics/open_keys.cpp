// SPDX-License-Identifier: Apache-2.0
#include "statistics/open_keys.hpp"

#include <cstring>

#include "base/threads.hpp"
#include "sort/arguments.hpp"
#include "statistics/chunked_keys.hpp"
#include "statistics/mean.hpp"
#include "statistics/sorted_keys.hpp"

namespace spansort::statistics {

std::unique_ptr<ordered_keys> open_keys(const_key_span keys, const key_access& access, bool descending) {
  sorting::check_keys(keys);
  sorting::check_hooks(access.hooks);
  static_cast<void>(base::resolve_threads(access.threads));
  if (access.order == key_order::unknown) {
    return std::make_unique<chunked_keys>(spread_keys(keys, access.devices, access.threads, access.hooks), descending);
  }
  static_cast<void>(sorting::resolve_devices(access.devices));  // some dozens of keys are read: no device is asked
  const auto read = [keys](std::uint64_t begin, std::uint64_t count, void* to) {
    const std::size_t width = size_bytes(keys.type);
    if (count != 0) std::memcpy(to, static_cast<const char*>(keys.data) + begin * width, count * width);
  };
  return std::make_unique<sorted_keys>(sorted_source{.type = keys.type,
                                                     .num_keys = keys.num_keys,
                                                     .is_descending = access.order == key_order::descending,
                                                     .read = read,
                                                     .mean = [keys] { return mean(keys); }},
                                       descending);
}

}  // namespace spansort::statistics
