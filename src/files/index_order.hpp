// SPDX-License-Identifier: Apache-2.0
// The order of keys that are in memory, as elements that are indices of them: what argsort_file() sorts where all fits.
#pragma once

#include <memory>

#include "files/element_sources.hpp"
#include "files/external/element_order.hpp"
#include "files/external/element_stream.hpp"
#include "files/io/key_reader.hpp"
#include "spansort/options.hpp"

namespace spansort::files {

/// An element is a 64-bit index of one of `keys`, and lies where a 64-bit number can. Order and duplicates are those of
/// the keys' values, of equal ones that of the indices. sort() takes all indices, whatever their order. The keys are
/// read before any of this is asked. Report, progress and ceiling of `options` are those of the sort. Throws
/// invalid_argument and device_error.
[[nodiscard]] std::unique_ptr<external::element_order> make_index_order(std::shared_ptr<const loaded_keys> keys,
                                                                        direction d, const sort_options& options);

/// Reads all keys of `reader`, whose number is known, to `keys` when the first elements are asked for. Elements are the
/// indices 0, 1, ... of the keys; all are to be asked for at once.
[[nodiscard]] std::unique_ptr<external::element_source> make_index_source(key_reader reader,
                                                                          std::shared_ptr<loaded_keys> keys,
                                                                          source_options options = {});

}  // namespace spansort::files
