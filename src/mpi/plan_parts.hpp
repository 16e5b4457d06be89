// SPDX-License-Identifier: Apache-2.0
// This header decides, before a file is read that the memory of all node ranks does not hold, how each goes through it.
#pragma once

#include <cstdint>
#include <string>

#include "files/external/element_order.hpp"
#include "files/external/spill_plan.hpp"
#include "mpi/session_state.hpp"

namespace spansort::mpi {

/// Returns the ceiling on the memory of this process: what the session was given, else half of what is free, shared by
/// the node ranks of this machine.
[[nodiscard]] std::uint64_t ceiling_of_parts(const session::state& session);

/// Plans for a share of `num_elements` of the file `input`. Throws out_of_memory naming the least that would do.
[[nodiscard]] external::spill_plan plan_parts(const session::state& session, const std::string& input,
                                              const external::element_order& order, std::uint64_t num_elements,
                                              std::uint64_t ceiling_bytes);

}  // namespace spansort::mpi
