// SPDX-License-Identifier: Apache-2.0
// The MSD hybrid radix sort (Stehle and Jacobsen, SIGMOD 2017; Onesweep, section 5, and RMG sort, section 6, describe
// it): the most significant digits split the records into buckets until a bucket fits on chip, and a local sort
// finishes it there. That is what the host device's own sort does (parallel_sort.hpp), so this is that sort under both
// of its names. It differs from the paper's where a CPU does: digits are up to 11 bits wide and chosen by a sample
// instead of 8 bits each, and the finish sorts by least significant digits in a thread's cache.
#include "device/host/local_sort/local_sort.hpp"
#include "keys/dispatch.hpp"

namespace spansort::device::host {
namespace {

local_sort_outcome run(const execution& with, const local_sort_request& request) {
  return keys::with_width(request.shape.codec.width_bytes(),
                          [&]<class K>() { return run_local_sort<K>(with, request); });
}

}  // namespace

extern const local_sort_algorithm own_sort, msd_hybrid;
constexpr local_sort_algorithm own_sort{.name = "", .label = "local sort", .run = run};
constexpr local_sort_algorithm msd_hybrid{.name = "msd_hybrid", .label = "local sort by msd_hybrid", .run = run};

}  // namespace spansort::device::host
