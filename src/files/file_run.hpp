// SPDX-License-Identifier: Apache-2.0
// A file that is sorted already, as a run to merge. It is opened for each read, so that any number of files can be
// merged, and looked at whenever it is: whether it is still the same file, and in order.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "files/external/element_order.hpp"
#include "files/external/runs.hpp"
#include "files/io/word_changes.hpp"
#include "spansort/errors.hpp"

namespace spansort::files {

struct sorted_input {
  std::string path;
  std::uint64_t first_byte = 0;  ///< of the elements
  std::uint64_t num_elements = 0;
  std::vector<word_change> changes = {};  ///< that make elements native
};

/// Elements that are in order by value, and not where they are equal in value: +0.0 before -0.0, NaN by NaN.
class tie_disorder : public bad_input {
 public:
  using bad_input::bad_input;
};

/// Reads the first element of each block. `order` outlives the run. Throws io_error, and bad_input for a file that is
/// no regular one or not in order, tie_disorder for one that is so by value alone, here and when it is read.
[[nodiscard]] std::unique_ptr<external::sorted_run> make_file_run(const sorted_input& file,
                                                                  const external::element_order& order,
                                                                  const external::spill_plan& plan);

}  // namespace spansort::files
