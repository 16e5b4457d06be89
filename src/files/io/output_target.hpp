// SPDX-License-Identifier: Apache-2.0
// An output target says where an output goes: a name in a directory that is to be replaced, or a stream that is written
// directly. Found out before any work, so that a wrong name, a missing permission or a full disk shows at once.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "files/io/file_access.hpp"

namespace spansort::files {

struct output_target {
  std::string name;                     ///< as the user gave it, for messages
  bool is_stream = false;               ///< standard output, a device or a FIFO: written directly
  std::string path;                     ///< symbolic links followed; empty: standard output
  std::string directory;                ///< of `path`; empty for streams
  std::string file_name;                ///< of `path`, in `directory`
  std::optional<file_access> replaced;  ///< of the regular file that is there now; the new one gets it
};

/// Resolves `path`; "-" is standard output. Throws io_error for a directory, a directory that is missing or cannot be
/// written, a file that may not be written, a loop of links, and in a folder whose sticky bit is set for what belongs
/// to another user: a file that this one may not replace, and what may have been put there to be written to.
[[nodiscard]] output_target find_output(const std::string& path);

/// Returns who may read and write the file that is in the target's place now, found by `path`: it may have come, or
/// changed, since find_output(), which throws for the same.
[[nodiscard]] std::optional<file_access> find_replaced(const output_target& target, const std::string& path);

/// Throws io_error, naming bytes needed and free, when the target's file system has no room for a new file.
void require_free_space(const output_target& target, std::uint64_t needed_bytes);

/// Text after the errno text when a write failed: bytes needed (0: not known) and free, and what to do.
[[nodiscard]] std::string write_failure_advice(const output_target& target, int error_code, std::uint64_t needed_bytes);

}  // namespace spansort::files
