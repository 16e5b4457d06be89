// SPDX-License-Identifier: Apache-2.0
// A part of a file that several processes write together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace spansort::files {

/// Writes `bytes` at `offset` of the file at `path`, which exists, and syncs them. `shown_name`: for messages. Throws
/// io_error.
void write_file_part(const std::string& path, const std::string& shown_name, std::uint64_t offset,
                     std::span<const std::byte> bytes);

}  // namespace spansort::files
