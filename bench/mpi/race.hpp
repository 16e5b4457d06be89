// SPDX-License-Identifier: Apache-2.0
// Runs the contenders of a case in turn, verifies every result and says what came out, as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "bench/mpi/cases.hpp"
#include "bench/mpi/node_ranks.hpp"
#include "bench/mpi/settings.hpp"

namespace bench {

/// Collective. The same on all node ranks but for the phases, which node rank 0 alone knows.
[[nodiscard]] nlohmann::ordered_json run_case(const node_ranks& nodes, const sort_case& c, const settings& s);

}  // namespace bench
