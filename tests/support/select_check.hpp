// SPDX-License-Identifier: Apache-2.0
// count_intervals and select_keys on any device, against definitions that share nothing with them but the codec.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "device/device.hpp"
#include "spansort/types.hpp"
#include "statistics/select.hpp"

namespace spansort::test {

/// A question to count_intervals about `keys`, which are copied into the device's memory.
struct interval_case {
  key_type type = key_type::u64;
  bool descending = false;
  std::vector<std::uint64_t> splitters;
  std::uint64_t marked = 0;
  std::uint64_t capacity = 0;
  std::uint64_t first_key = 0;  ///< those before it are not asked about: the others lie as callers' keys may
};

/// "" or what is wrong: a count, the multiset of the collected keys, a key written past the capacity.
[[nodiscard]] std::string diagnose_intervals(device::device& device, std::span<const std::byte> keys,
                                             const interval_case& c);

/// `num_splitters` different encodings, some of them keys that occur, in order.
[[nodiscard]] std::vector<std::uint64_t> draw_splitters(key_type type, bool descending, std::span<const std::byte> keys,
                                                        std::size_t num_splitters, std::uint64_t seed);

/// A device and the keys that lie on it, for as many chunks as sizes are given.
struct select_case {
  key_type type = key_type::u64;
  bool descending = false;
  std::vector<std::uint64_t> sizes;  ///< of chunks; chunk i lies on device i modulo their number
};

/// Selects `ranks` of `keys` and compares with `sorted`, the keys in order. "" or what is wrong.
[[nodiscard]] std::string diagnose_select(std::span<device::device* const> devices, std::span<const std::byte> keys,
                                          std::span<const std::byte> sorted, const select_case& c,
                                          std::span<const std::uint64_t> ranks,
                                          statistics::select_report* report = nullptr);

/// `num_chunks` sizes that sum up to `num_keys`: some are nothing.
[[nodiscard]] std::vector<std::uint64_t> draw_sizes(std::uint64_t num_keys, std::size_t num_chunks, std::uint64_t seed);

}  // namespace spansort::test
