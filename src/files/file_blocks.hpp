// SPDX-License-Identifier: Apache-2.0
// The keys of a regular file, read a piece at a time by any number of threads.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "files/io/key_reader.hpp"
#include "statistics/key_blocks.hpp"

namespace spansort::files {

/// Takes the layout from a reader of `path`. Throws io_error, and bad_input for what is no regular file. Keys are then
/// read in native byte order; what is read of a file that would fill the page cache is dropped from it. Threads
/// that read tell `on_read` how many keys they have read.
[[nodiscard]] std::unique_ptr<statistics::key_blocks> open_key_blocks(
    const std::string& path, const key_reader& reader, std::function<void(std::uint64_t num_keys)> on_read = {});

}  // namespace spansort::files
