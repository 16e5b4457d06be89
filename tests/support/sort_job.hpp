// SPDX-License-Identifier: Apache-2.0
// The arrays of one call that may fail, between red zones, and whether they are as they were or as they should be.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "spansort/sort.hpp"
#include "support/engines.hpp"
#include "support/guarded_array.hpp"
#include "support/oracle.hpp"

namespace spansort::test {

class sort_job {
 public:
  /// Sorts the oracle's input. The values begin `misalignment_bytes` behind a multiple of 64.
  sort_job(operation op, oracle expected, unsigned misalignment_bytes = 0);

  /// Arrays as they are before the call.
  void reset();
  // Sort in the direction of the oracle, by a sorter and by the free functions. Throw what the call throws.

  void run(sorter& s);
  void run(const sort_options& options);
  void run();

  // "" or what differs. Indices of an argsort that threw are unspecified.

  [[nodiscard]] std::string diagnose_untouched() const;
  [[nodiscard]] std::string diagnose_done() const;
  /// "" while nothing outside of the arrays has been written.
  [[nodiscard]] std::string diagnose_red_zones() const;

  [[nodiscard]] const oracle& expected() const { return expected_; }
  /// The bytes that the call makes: keys, values or indices.
  [[nodiscard]] std::span<std::byte> result();

 private:
  [[nodiscard]] key_span keys();
  [[nodiscard]] direction wanted() const;

  operation op_;
  oracle expected_;
  unsigned misalignment_bytes_;
  guarded_array keys_{0};
  guarded_array values_{0};  ///< or indices
};

}  // namespace spansort::test
