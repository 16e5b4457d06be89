// SPDX-License-Identifier: Apache-2.0
// Everything Spansort throws. exit_status() is what the command returns for it.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace spansort {

/// Base of all exceptions thrown by Spansort.
class error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
  /// Exit status of the command: 2 usage, 3 bad input, 4 I/O, 5 device, 6 memory, 7 peer, 8 internal check, 130 cancelled.
  [[nodiscard]] virtual int exit_status() const noexcept { return 8; }
};

/// An argument that cannot be: unknown type, overlapping spans, a device list that names nothing.
class invalid_argument : public error {
 public:
  using error::error;
  [[nodiscard]] int exit_status() const noexcept override { return 2; }
};

/// Data that is not what it claims to be: a hostile header, a file of odd length.
class bad_input : public error {
 public:
  using error::error;
  [[nodiscard]] int exit_status() const noexcept override { return 3; }
};

/// A file system call failed.
class io_error : public error {
 public:
  /// `code` is the errno of the failed call, 0 where there is none.
  io_error(const std::string& what, int code) : error(what), code_(code) {}
  [[nodiscard]] int code() const noexcept { return code_; }
  [[nodiscard]] int exit_status() const noexcept override { return 4; }

 private:
  int code_;
};

/// A device is absent, unusable or lost.
class device_error : public error {
 public:
  using error::error;
  [[nodiscard]] int exit_status() const noexcept override { return 5; }
};

/// Memory that the call needs is not there. Thrown before any input is touched.
class out_of_memory : public error {
 public:
  out_of_memory(const std::string& what, std::uint64_t needed_bytes, std::uint64_t available_bytes)
      : error(what), needed_bytes_(needed_bytes), available_bytes_(available_bytes) {}
  [[nodiscard]] std::uint64_t needed_bytes() const noexcept { return needed_bytes_; }
  [[nodiscard]] std::uint64_t available_bytes() const noexcept { return available_bytes_; }
  [[nodiscard]] int exit_status() const noexcept override { return 6; }

 private:
  std::uint64_t needed_bytes_;
  std::uint64_t available_bytes_;
};

/// A check of Spansort's own result failed; the output was withheld.
class internal_error : public error {
 public:
  using error::error;
};

/// The progress callback asked to stop before the input was overwritten. The input is untouched.
class cancelled : public error {
 public:
  using error::error;
  [[nodiscard]] int exit_status() const noexcept override { return 130; }
};

}  // namespace spansort
