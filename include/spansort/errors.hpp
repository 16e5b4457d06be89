// SPDX-License-Identifier: Apache-2.0
// Everything Spansort throws. exit_status() is what the command returns for it.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

#include "spansort/cxx20.hpp"

namespace spansort {

/// Base of all exceptions thrown by Spansort.
class error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
  /// Exit status of the command: 2 usage, 3 bad input, 4 I/O, 5 device, 6 memory, 7 peer, 8 internal check, 130
  /// cancelled.
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
  /// `device` as in a device list, "" where it is none in particular.
  explicit device_error(const std::string& what, std::string device = "") : error(what), device_(std::move(device)) {}
  [[nodiscard]] const std::string& device() const noexcept { return device_; }
  [[nodiscard]] int exit_status() const noexcept override { return 5; }

 private:
  std::string device_;
};

/// A device failed in a way that no later call recovers from: it is lost until the process ends, and later calls that
/// need it throw this too.
class device_lost : public device_error {
 public:
  using device_error::device_error;
};

/// A device's memory has an error that it could not correct. What it computed is withheld.
class device_memory_error : public device_lost {
 public:
  using device_lost::device_lost;
};

/// Memory that the call needs is not there. Thrown before any input is touched.
class out_of_memory : public error {
 public:
  out_of_memory(const std::string& what, std::uint64_t needed_bytes, std::uint64_t available_bytes,
                std::string device = "")
      : error(what), needed_bytes_(needed_bytes), available_bytes_(available_bytes), device_(std::move(device)) {}
  [[nodiscard]] std::uint64_t needed_bytes() const noexcept { return needed_bytes_; }
  [[nodiscard]] std::uint64_t available_bytes() const noexcept { return available_bytes_; }
  /// Returns the GPU whose runtime refused, as in a device list; "" where it is none in particular.
  [[nodiscard]] const std::string& device() const noexcept { return device_; }
  [[nodiscard]] int exit_status() const noexcept override { return 6; }

 private:
  std::uint64_t needed_bytes_;
  std::uint64_t available_bytes_;
  std::string device_;
};

/// A node rank of a cluster failed, ended or fell silent, or MPI cannot reach it. All ranks of the communicator stop
/// with this; the process can do nothing more with that communicator.
class cluster_failure : public error {
 public:
  /// `node_rank` of the rank that failed, -1 where MPI does not say; `phase` is the last that was heard from it, ""
  /// where none was.
  cluster_failure(const std::string& what, int node_rank, std::string phase)
      : error(what), node_rank_(node_rank), phase_(std::move(phase)) {}
  [[nodiscard]] int node_rank() const noexcept { return node_rank_; }
  [[nodiscard]] const std::string& phase() const noexcept { return phase_; }
  [[nodiscard]] int exit_status() const noexcept override { return 7; }

 private:
  int node_rank_;
  std::string phase_;
};

/// A check of Spansort's own result failed; the output was withheld.
class internal_error : public error {
 public:
  using error::error;
};

/// The progress callback asked to stop before the input was overwritten. The input is untouched, unless this is an
/// `abandoned` (abandon.hpp).
class cancelled : public error {
 public:
  using error::error;
  [[nodiscard]] int exit_status() const noexcept override { return 130; }
};

}  // namespace spansort
