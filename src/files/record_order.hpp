// SPDX-License-Identifier: Apache-2.0
// Records as elements of files larger than memory.
#pragma once

#include <memory>

#include "files/external/element_order.hpp"
#include "spansort/options.hpp"
#include "spansort/records.hpp"

namespace spansort::files {

/// An element is a record; the normalised key is records::record_codec's. Options' report, progress and ceiling on
/// memory are not used: sort_memory() is for whoever keeps the ceiling. Throws invalid_argument and device_error.
[[nodiscard]] std::unique_ptr<external::element_order> make_record_order(const record_format& format, direction d,
                                                                         const sort_options& options);

}  // namespace spansort::files
