// SPDX-License-Identifier: Apache-2.0
// One new file that all node ranks write together, each its part, and that replaces the output when all are written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "files/io/atomic_file.hpp"
#include "files/io/file_part.hpp"
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

/// One file on its way to its name: node rank 0 makes it, all write their parts, and when all are done it replaces the
/// output. The constructor and commit() are collective. What ends one node rank, by an io_error, ends all; the target
/// is then as it was.
class shared_output_file {
 public:
  /// `header` is what comes before the elements, and the same on all. `target` and what it refers to outlive the file.
  shared_output_file(session::state& session, const files::output_target& target, std::string header,
                     std::uint64_t whole_bytes, bool is_synced, const temporary_file_callback& on_temporary);
  ~shared_output_file();

  /// This node rank's part begins so many bytes behind the header. Throws io_error, as the next three do.
  void open_part(std::uint64_t offset);
  /// The part would fill the page cache: file_part says how it is written then. Throws out_of_memory.
  void pass_by_page_cache(std::uint64_t part_bytes, std::uint64_t buffer_bytes) {
    part_->pass_by_page_cache(part_bytes, buffer_bytes);
  }
  void write(std::span<const std::byte> bytes) { part_->write(bytes); }
  /// The part is on the disk, if it is to be.
  void finish_part() { part_->finish(); }
  /// The file replaces the output, once all have finished their parts.
  void commit();

 private:
  class temporary;

  session::state& session_;
  const files::output_target& target_;
  std::string header_;
  std::uint64_t whole_bytes_;
  bool is_synced_;
  std::optional<files::atomic_file> whole_;  ///< node rank 0 makes it and gives it its name
  std::unique_ptr<temporary> temporary_;
  std::string path_;
  std::optional<files::file_part> part_;
};

/// Collective. `part`: this node rank's keys or indices, which follow those of the node ranks before it; in native byte
/// order, which may be swapped. Returns how many all of them are. Throws io_error, cluster_failure on the other node
/// ranks; the target is then as it was.
std::uint64_t write_shared_output(session::state& session, const shared_output& output, std::span<std::byte> part);

}  // namespace spansort::mpi
