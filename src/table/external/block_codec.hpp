// SPDX-License-Identifier: Apache-2.0
// Rows as one piece of bytes and back: a directory, and then the buffers of one column after the other as they lie in
// memory. What is read back points into that piece.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "table/arrow_rows.hpp"

namespace spansort::table {

[[nodiscard]] std::uint64_t packed_bytes(const arrow_rows& rows);
/// Writes packed_bytes(rows) bytes. The rows are a copy that take_rows() made, with views of their own; dictionaries
/// are not written.
void pack(const arrow_rows& rows, std::byte* packed);
/// Returns the rows of a piece, which they lie in and which outlives them, without dictionaries, which the caller sets.
[[nodiscard]] arrow_rows unpack(const std::shared_ptr<const ArrowSchema>& schema, std::uint64_t num_rows,
                                const std::byte* packed);

}  // namespace spansort::table
