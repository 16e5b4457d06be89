// SPDX-License-Identifier: Apache-2.0
// This header leads from a caller's keys and options to keys that order statistics can be taken of.
#pragma once

#include <memory>

#include "base/test_hooks.hpp"
#include "spansort/device_list.hpp"
#include "spansort/statistics.hpp"
#include "spansort/types.hpp"
#include "statistics/ordered_keys.hpp"

namespace spansort::statistics {

/// What the options of all order statistics have in common.
struct key_access {
  key_order order = key_order::unknown;
  const device_list& devices;
  unsigned threads = 0;
  base::test_hooks hooks = base::current_test_hooks();
};

/// Keys in host memory, checked, with ranks that ascend or descend. Throws invalid_argument, device_error,
/// out_of_memory.
[[nodiscard]] std::unique_ptr<ordered_keys> open_keys(const_key_span keys, const key_access& access,
                                                      bool descending = false);

}  // namespace spansort::statistics
