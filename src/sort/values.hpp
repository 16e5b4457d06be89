// SPDX-License-Identifier: Apache-2.0
// Moving values that do not travel with their keys as they are. All in parallel, blocking; none throws, so that
// keys and values stay together wherever memory ends. Source and destination do not overlap.
#pragma once

#include <cstdint>

namespace spansort::sorting {

/// 4, 8 or 16: the width in which a value of 1 to 16 bytes travels.
[[nodiscard]] unsigned travelling_width(std::uint64_t value_bytes) noexcept;

/// `first`, first + 1 ... as integers of 4 or 8 bytes.
void write_indices(void* indices, std::uint64_t index_bytes, std::uint64_t count, std::uint64_t first = 0);
/// Copies elements between arrays of different element widths; the extra bytes of the wider one are undefined.
void repack(void* destination, std::uint64_t destination_bytes, const void* source, std::uint64_t source_bytes,
            std::uint64_t count);
/// destination[i] = source[indices[i]].
void gather(void* destination, const void* source, const std::uint64_t* indices, std::uint64_t count,
            std::uint64_t element_bytes);

}  // namespace spansort::sorting
