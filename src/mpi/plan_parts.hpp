// SPDX-License-Identifier: Apache-2.0
// This header decides, before a file is read that the memory of all node ranks does not hold, how each goes through it.
#pragma once

#include <cstdint>
#include <string>

#include "files/external/element_order.hpp"
#include "files/external/spill_plan.hpp"
#include "mpi/session_state.hpp"
#include "spansort/files.hpp"

namespace spansort::mpi {

/// Returns the ceiling on the memory of this process: what the session was given, else half of what is free, shared by
/// the node ranks of this machine.
[[nodiscard]] std::uint64_t ceiling_of_parts(const session::state& session);

/// Plans for a share of `num_elements` of the file `input`. Throws out_of_memory naming the least that would do.
[[nodiscard]] external::spill_plan plan_parts(const session::state& session, const std::string& input,
                                              const external::element_order& order, std::uint64_t num_elements,
                                              std::uint64_t ceiling_bytes);

/// Returns how many of a run's elements are wanted: all, or a head. Verification compares what all elements are.
[[nodiscard]] std::uint64_t head_of_runs(const file_options& file) noexcept;

/// Returns how many of `num_elements` are spilled, in runs as planned.
[[nodiscard]] std::uint64_t num_spilled(const external::spill_plan& spill, std::uint64_t num_elements,
                                        const file_options& file) noexcept;

/// Collective where duplicates are dropped. Returns how many bytes this node rank will write to temporary files at
/// most: its runs of `num_elements`, and its part of all that is left of equal elements, which is spilled once more.
[[nodiscard]] std::uint64_t bytes_to_spill(session::state& session, const external::spill_plan& spill,
                                           std::uint64_t num_elements, const file_options& file);

}  // namespace spansort::mpi
