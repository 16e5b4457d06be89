// SPDX-License-Identifier: Apache-2.0
// Reading a regular file by several threads: one alone copies less out of the page cache than memory could take, and
// asks a disk for one thing at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "files/io/file_descriptor.hpp"

namespace spansort::files {

/// Called on the thread that reads with how many bytes have arrived without a gap. May throw to stop it.
using prefix_callback = std::function<void(std::uint64_t num_bytes)>;

/// Reads a regular file from `offset` on until `into` is full or the file ends, wherever the descriptor stands. The
/// calling thread and some others read blocks in the order of the file. What is counted as read has no gap; an error is
/// that of the first block that has one. Where the system refuses threads, the calling one reads alone.
[[nodiscard]] transfer_result read_by_threads(int fd, std::span<std::byte> into, std::uint64_t offset,
                                              const prefix_callback& on_prefix = {});

}  // namespace spansort::files
