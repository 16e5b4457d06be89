// SPDX-License-Identifier: Apache-2.0
// One new file that all node ranks write together, each its part, and that replaces the output when all are written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "files/io/key_reader.hpp"
#include "files/io/output_target.hpp"
#include "mpi/session_state.hpp"

namespace spansort::mpi {

/// An output that is the same on all node ranks, but for the callback.
struct shared_output {
  files::output_target target = {};
  files::key_layout layout = {};
  bool is_synced = true;  ///< the parts and the name are on the disk when it is done
  const temporary_file_callback& on_temporary;
};

/// Throws invalid_argument for streams, which have no parts that could be written at a time.
[[nodiscard]] files::output_target find_shared_output(const std::string& output);

/// Collective. `part`: this node rank's keys or indices, which follow those of the node ranks before it; in native byte
/// order, which may be swapped. Returns how many all of them are. Throws io_error, cluster_failure on the other node
/// ranks; the target is then as it was.
std::uint64_t write_shared_output(session::state& session, const shared_output& output, std::span<std::byte> part);

}  // namespace spansort::mpi
