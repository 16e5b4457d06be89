// SPDX-License-Identifier: Apache-2.0
// This header leads from the stages of a file sort to the phases and the timeline of its report.
#pragma once

#include <cstdint>

#include "files/external/external_sort.hpp"
#include "report/open_report.hpp"

namespace spansort::files {

/// Adds a stage, which moves so many bytes for each element that its clock has counted.
void note_stage(report::open_report& open, const external::stage_report& stage, std::uint64_t element_bytes);

}  // namespace spansort::files
