// SPDX-License-Identifier: Apache-2.0
// The folder of one run, and what killed runs have left: a run holds a lock (flock) on its folder, which ends with its
// processes however they end, so that a folder without one is nobody's. tests/soak/folders.py does the same.
#pragma once

#include <string>

namespace spansort::soak {

/// A folder below the one that is wanted, gone with the scope.
class run_folder {
 public:
  /// Removes the folders there that nobody holds any more, and makes one. `wanted` may be "", for the system's folder
  /// for temporary files. Throws std::runtime_error where none can be made.
  explicit run_folder(const std::string& wanted);
  ~run_folder();
  run_folder(const run_folder&) = delete;
  run_folder& operator=(const run_folder&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  [[nodiscard]] bool try_make(const std::string& in);

  std::string path_;
  int lock_ = -1;  ///< a descriptor of the folder
};

}  // namespace spansort::soak
