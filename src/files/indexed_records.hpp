// SPDX-License-Identifier: Apache-2.0
// The fields that records are ordered by, with the place of each record: what the order of records as indices is made
// of, in memory and in temporary files.
#pragma once

#include <cstdint>
#include <memory>

#include "files/external/element_stream.hpp"
#include "spansort/records.hpp"

namespace spansort::files {

/// Returns the format of elements that hold the keys of `format` one after the other, then a 64-bit index.
[[nodiscard]] record_format packed_format(const record_format& format);

/// Makes such elements of records of `format`, which it reads in pieces of at most 1 MiB. The first gets `first_index`.
[[nodiscard]] std::unique_ptr<external::element_source> make_indexed_record_source(
    std::unique_ptr<external::element_source> records, const record_format& format, std::uint64_t first_index = 0);

}  // namespace spansort::files
