// SPDX-License-Identifier: Apache-2.0
// Records as elements of files larger than memory.
#pragma once

#include <memory>

#include "files/external/element_order.hpp"
#include "spansort/options.hpp"
#include "spansort/records.hpp"

namespace spansort::files {

/// An element is a record; the normalised key is records::record_codec's. Report, progress and ceiling on memory of the
/// options are those of each sort of the records' first words: whoever sorts in parts clears them by
/// for_counted_sorts() and keeps a ceiling by sort_memory(). Throws invalid_argument and device_error.
[[nodiscard]] std::unique_ptr<external::element_order> make_record_order(const record_format& format, direction d,
                                                                         const sort_options& options);

}  // namespace spansort::files
