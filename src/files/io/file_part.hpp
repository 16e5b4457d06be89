// SPDX-License-Identifier: Apache-2.0
// A part of a file that several processes write together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "files/io/output_target.hpp"

namespace spansort::files {

/// A file that exists at `path` and is to become `target`, of `size_bytes` bytes, when all its parts are written.
struct shared_file {
  std::string path;
  const output_target& target;
  std::uint64_t size_bytes = 0;
  bool is_synced = true;  ///< else the system writes it to the disk when it sees fit
};

/// Writes `bytes` at `offset` and syncs them, if the file is to be. Throws io_error naming the target.
void write_file_part(const shared_file& whole, std::uint64_t offset, std::span<const std::byte> bytes);

}  // namespace spansort::files
