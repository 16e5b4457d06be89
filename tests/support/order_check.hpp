// SPDX-License-Identifier: Apache-2.0
// Order statistics of one set of keys wherever it lies: answers from devices are held against those of keys in host
// memory, to the bit. Shared by tests on host devices and on GPUs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/test_hooks.hpp"
#include "spansort/options.hpp"
#include "spansort/statistics.hpp"
#include "spansort/types.hpp"

namespace spansort::test {

/// "" or the first number of two summaries that differs. NaN equals NaN.
[[nodiscard]] std::string diagnose_summaries(const summary& found, const summary& expected);

/// The type of the keys, the devices that look at them, and what those are told.
struct order_case {
  key_type type = key_type::u64;
  std::string devices;                    ///< a list that names devices
  std::vector<std::uint64_t> sizes = {};  ///< of shards, one a device; of no interest to keys in host memory
  key_order order = key_order::unknown;
  base::test_hooks hooks = {};
};

/// Asks for quantiles, a summary, a histogram, ranks, and the keys and the positions of both ends, of shards that hold
/// `keys` one after the other. Returns "" or what is wrong.
[[nodiscard]] std::string diagnose_resident(std::span<const std::byte> keys, const order_case& c);

/// Checks the answers of diagnose_resident() for keys in host memory, which are given to the devices of the list.
[[nodiscard]] std::string diagnose_spread(std::span<const std::byte> keys, const order_case& c);

}  // namespace spansort::test
