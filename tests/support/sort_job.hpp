// SPDX-License-Identifier: Apache-2.0
// The arrays of one call that may fail, and whether they are as they were or as they should be.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "spansort/sort.hpp"
#include "support/engines.hpp"
#include "support/oracle.hpp"

namespace spansort::test {

class sort_job {
 public:
  /// Sorts the oracle's input.
  sort_job(operation op, oracle expected);

  /// Arrays as they are before the call.
  void reset();
  /// Sorts in the direction of the oracle. Throws what the call throws.
  void run(sorter& s);

  // "" or what differs. Indices of an argsort that threw are unspecified.

  [[nodiscard]] std::string diagnose_untouched() const;
  [[nodiscard]] std::string diagnose_done() const;

 private:
  operation op_;
  oracle expected_;
  std::vector<std::byte> keys_;
  std::vector<std::byte> values_;
};

}  // namespace spansort::test
