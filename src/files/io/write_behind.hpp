// SPDX-License-Identifier: Apache-2.0
// Has the bytes of a growing file written to the disk while more of them come: the disk works from the begin on, the
// last sync is short, and a file larger than memory does not push everything else out of the page cache.
#pragma once

#include <cstdint>

namespace spansort::files {

class write_behind {
 public:
  /// Drops what is on the disk from the page cache; the writer waits for the disk, some windows behind.
  void drop_pages() noexcept { drops_pages_ = true; }
  /// Nobody will wait for the disk: it is left alone, unless pages are to be dropped.
  void leave_to_system() noexcept { is_hurried_ = false; }

  /// The file behind `fd`, a regular one, has been written up to `end_bytes`. Returns 0, or the errno of a write to the
  /// disk that failed: the kernel tells it only once, so fsync() would not.
  [[nodiscard]] int advance(int fd, std::uint64_t end_bytes) noexcept;

 private:
  std::uint64_t num_started_ = 0;  ///< windows
  bool drops_pages_ = false;
  bool is_hurried_ = true;
};

}  // namespace spansort::files
