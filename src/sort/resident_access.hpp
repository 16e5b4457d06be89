// SPDX-License-Identifier: Apache-2.0
// The devices that a resident_sorter holds open, for those who work on them beside its sorts.
#pragma once

#include <vector>

#include "algorithms/rank.hpp"
#include "base/test_hooks.hpp"
#include "sort/open_devices.hpp"
#include "spansort/resident.hpp"

namespace spansort::detail {

/// All that stands here lives as long as the sorter, or the one that it was moved to.
struct resident_access {
  /// Returns the ranks of a sorter, in the order of its device list.
  [[nodiscard]] static std::vector<algorithms::rank>& ranks(resident_sorter& sorter);
  [[nodiscard]] static const sorting::device_set& devices(const resident_sorter& sorter);
  [[nodiscard]] static const device_list& list(const resident_sorter& sorter);
  [[nodiscard]] static const base::test_hooks& hooks(const resident_sorter& sorter);
};

}  // namespace spansort::detail
