// SPDX-License-Identifier: Apache-2.0
// The table of host devices' local sorts, and why those of the papers that it lacks are not in it.
#include <algorithm>
#include <array>
#include <string>

#include "base/assert.hpp"
#include "device/host/local_sort/local_sort.hpp"

namespace spansort::device::host {

extern const local_sort_algorithm own_sort, lsd_reduce_then_scan, satish_radix, satish_merge, msd_hybrid, paradis;

namespace {

/// The first is the device's own choice. A new algorithm is a file and its name in these lines.
constexpr std::array table{&own_sort, &lsd_reduce_then_scan, &satish_radix, &satish_merge, &msd_hybrid, &paradis};

/// An algorithm that is for other devices.
struct refusal {
  std::string_view name;
  std::string_view reason;
};
constexpr std::array refusals{refusal{
    "onesweep",
    "its look-back is made for thousands of thread blocks in flight, and the threads of a CPU have their counts "
    "before they begin: lsd_reduce_then_scan is what is left of it there, and GPUs have it"}};

}  // namespace

const local_sort_algorithm& find_local_sort(std::string_view name) {
  const auto found = std::ranges::find(table, name, &local_sort_algorithm::name);
  SPANSORT_ASSERT(found != table.end());
  return **found;
}

local_sort_offer offer(std::string_view name, const record_shape& shape, std::uint64_t num_keys) {
  const auto found = std::ranges::find(table, name, &local_sort_algorithm::name);
  if (found != table.end()) {
    const local_sort_algorithm& algorithm = **found;
    return {.needs_alternate = algorithm.needs_alternate,
            .scratch_bytes = algorithm.scratch_bytes == nullptr ? 0 : algorithm.scratch_bytes(shape, num_keys),
            .most_digit_bits = algorithm.most_digit_bits};
  }
  const auto refused = std::ranges::find(refusals, name, &refusal::name);
  return {.why_not = refused == refusals.end() ? "host devices have no local sort of that name"
                                               : std::string(refused->reason)};
}

}  // namespace spansort::device::host
