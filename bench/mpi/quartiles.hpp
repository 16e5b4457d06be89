// SPDX-License-Identifier: Apache-2.0
// The three quartiles of the keys of all node ranks, found without sorting, next to a sort of the same keys.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "bench/mpi/cases.hpp"
#include "bench/mpi/node_ranks.hpp"
#include "bench/mpi/settings.hpp"

namespace bench {

/// Collective. In each round the keys are sorted and selected from in turn; what is found is compared with the sorted
/// keys.
[[nodiscard]] nlohmann::ordered_json run_quartiles(const node_ranks& nodes, const sort_case& c, const settings& s);

}  // namespace bench
