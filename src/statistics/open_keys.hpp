// SPDX-License-Identifier: Apache-2.0
// From a caller's keys and options to keys that order statistics can be taken of.
#pragma once

#include <memory>
#include <string>

#include "spansort/options.hpp"
#include "spansort/statistics.hpp"
#include "spansort/types.hpp"
#include "statistics/ordered_keys.hpp"

namespace spansort::statistics {

/// What the options of all order statistics have in common.
struct key_access {
  key_order order = key_order::unknown;
  const std::string& devices;
  const tuning_options& tuning;
};

/// Keys in host memory, checked, with ranks that ascend or descend. Throws invalid_argument, device_error,
/// out_of_memory.
[[nodiscard]] std::unique_ptr<ordered_keys> open_keys(const_key_span keys, const key_access& access,
                                                      bool descending = false);

}  // namespace spansort::statistics
