// SPDX-License-Identifier: Apache-2.0
// These are the program's calls about files, the n-th of which, or all from it on, can be told to fail without being
// made. tests/cli/faults.c does the same to calls of the command.
#pragma once

#include <cstdint>

namespace spansort::test {

enum class file_call : std::uint8_t {
  none,
  fstat,
  lstat,
  lseek,
  fchmod,
  fchown,
  fsetxattr,
  fremovexattr,
  lgetxattr,
  llistxattr,
  fstatfs,
  statvfs,
  fallocate,
  sync_file_range,
  fsync,
  linkat,
  renameat,
  openat,
  access,
  close,
  pthread_create
};

/// While the scope lives the calling thread's `nth` call fails with `error`, counted from 1, and all behind it where
/// that is lasting.
class failing_call_scope {
 public:
  explicit failing_call_scope(file_call which, int error, unsigned nth = 1, bool is_lasting = false) noexcept;
  ~failing_call_scope();
  failing_call_scope(const failing_call_scope&) = delete;
  failing_call_scope& operator=(const failing_call_scope&) = delete;

  /// Returns whether a call has failed since the last scope began.
  [[nodiscard]] static bool has_failed() noexcept;
};

}  // namespace spansort::test
