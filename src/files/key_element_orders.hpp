// SPDX-License-Identifier: Apache-2.0
// Keys, and keys with their index, as elements of files. Report, progress and ceiling on memory of the options are
// those of each call of sort(): whoever sorts in parts clears them by for_counted_sorts() and keeps a ceiling by
// sort_memory(). All throw invalid_argument and device_error.
#pragma once

#include <memory>

#include "files/external/element_order.hpp"
#include "spansort/options.hpp"
#include "spansort/types.hpp"

namespace spansort::files {

/// An element is a key, and lies where a key can: arrays of them are aligned to it. Ties are ordered by bits, as sort()
/// does; disorder and duplicates are those of the value, as check() says.
[[nodiscard]] std::unique_ptr<external::element_order> make_key_order(key_type type, direction d,
                                                                      const sort_options& options);

/// An element is a key, then its place in the input as a 64-bit number, without a gap: size_bytes(type) + 8 bytes, of
/// any alignment. Keys equal in value keep the order they come in; an element whose key is equal and whose index is
/// less than its left neighbour's is out of order. Duplicates are those of the value. The checksum is that of
/// checksum_pairs().
[[nodiscard]] std::unique_ptr<external::element_order> make_indexed_key_order(key_type type, direction d,
                                                                              const sort_options& options);

}  // namespace spansort::files
