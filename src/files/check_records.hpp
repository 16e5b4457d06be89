// SPDX-License-Identifier: Apache-2.0
// The check of records that come from any source, chunk after chunk.
#pragma once

#include "files/external/element_stream.hpp"
#include "spansort/files.hpp"
#include "spansort/records.hpp"

namespace spansort::files {

/// Reads `source` to its end. What the source throws surfaces.
[[nodiscard]] file_check check_records(external::element_source& source, const record_format& format,
                                       const check_options& options);

}  // namespace spansort::files
