// SPDX-License-Identifier: Apache-2.0
// Standard input in a temporary file, for what reads its input here and there.
#pragma once

#include <string>
#include <vector>

#include "files/io/file_descriptor.hpp"
#include "files/shown_progress.hpp"

namespace spansort::files {

class spooled_stream {
 public:
  /// Reads standard input to its end, into a temporary file in the first of `folders`. Throws io_error, and what
  /// `shown` throws, which is told of the reading.
  spooled_stream(const std::vector<std::string>& folders, shown_progress& shown);

  /// Returns a name by which this process can open the file; messages about it name standard input.
  [[nodiscard]] std::string path() const;

 private:
  file_descriptor file_;
};

}  // namespace spansort::files
