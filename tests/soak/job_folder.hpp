// SPDX-License-Identifier: Apache-2.0
// The files of one job: inputs, outputs that replace an old file or none, and a folder for temporary files. Whatever
// else is found there afterwards was left behind.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace spansort::soak {

/// A file that a call makes.
struct expected_file {
  std::string name;
  std::vector<std::byte> contents;
  bool has_header = false;  ///< `contents` stand behind a header of .npy
  bool replaces = false;    ///< another one is there before
};

class job_folder {
 public:
  explicit job_folder(std::string path);

  [[nodiscard]] std::string path(const std::string& name) const { return path_ + "/" + name; }
  [[nodiscard]] std::string temporary() const { return path("t"); }

  void add_input(const std::string& name, std::span<const std::byte> contents);
  void add_output(expected_file output) { outputs_.push_back(std::move(output)); }

  /// Writes the files that the outputs replace, and removes the others.
  void prepare() const;

  /// "" while all outputs are new, or all as they were, and the folder holds nothing else but what begins with
  /// `also_allowed`, where that is not empty.

  [[nodiscard]] std::string diagnose_new(const std::string& also_allowed = "") const;
  [[nodiscard]] std::string diagnose_old(const std::string& also_allowed = "") const;

 private:
  [[nodiscard]] std::string diagnose_others(bool is_new, const std::string& also_allowed) const;

  std::string path_;
  std::vector<std::string> inputs_;
  std::vector<expected_file> outputs_;
};

[[nodiscard]] std::vector<std::byte> read_bytes(const std::string& path);
void write_bytes(const std::string& path, std::span<const std::byte> contents);

}  // namespace spansort::soak
