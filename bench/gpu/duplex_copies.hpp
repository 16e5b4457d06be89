// SPDX-License-Identifier: Apache-2.0
// The floor of a sort that makes trips over the link in both directions at once: those copies alone, through buffers of
// a part's size on every GPU.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <vector>

namespace bench {

struct duplex_times {
  std::vector<double> one_trip_ms;   ///< everything in, and out elsewhere
  std::vector<double> two_trips_ms;  ///< there and back
  [[nodiscard]] nlohmann::ordered_json to_json() const;
};

/// `size_bytes` of pinned memory go from `here` to `there`, part after part, each GPU taking one in turn: while one
/// comes in, the one before leaves. The second trip takes them back, so `here` ends as it began. One run more warms up.
[[nodiscard]] duplex_times time_duplex_copies(const std::vector<int>& devices, void* here, void* there,
                                              std::uint64_t size_bytes, std::uint64_t part_bytes, unsigned repeats);

}  // namespace bench
