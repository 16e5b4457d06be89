// SPDX-License-Identifier: Apache-2.0
// This header says what a node rank sees of its part of a sorted whole while that goes by, piece by piece: whether it
// is in order, which elements are equal to the one before, and what it begins and ends with, which all tell each other
// at the end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "files/external/element_order.hpp"
#include "spansort/check.hpp"
#include "transport/communicator.hpp"

namespace spansort::mpi {

class part_checks {
 public:
  /// `verifies`: order and checksum are looked at.
  part_checks(const external::element_order& order, bool verifies) : order_(order), verifies_(verifies) {}

  /// Looks at the next elements.
  void add(const std::byte* elements, std::uint64_t count);
  /// Looks at the next elements, then moves those that differ in value from the one before to the front. Returns how
  /// many they are.
  std::uint64_t add_and_keep_first(std::byte* elements, std::uint64_t count);

  /// Collective. Returns what is wrong with this node rank's part, half a sentence, or "". `read` is the checksum of
  /// what it has read of the input.
  [[nodiscard]] std::string find_fault(transport::communicator& group, const multiset_checksum& read) const;
  /// Collective. Returns whether the part begins with an element equal to the last one of the parts before.
  [[nodiscard]] bool begins_as_others_end(transport::communicator& group) const;

 private:
  [[nodiscard]] std::vector<std::byte> predecessor(transport::communicator& group) const;

  const external::element_order& order_;
  bool verifies_;
  std::vector<std::byte> first_;  ///< empty: there is none yet
  std::vector<std::byte> last_;
  multiset_checksum checksum_;
  std::string fault_;
  std::uint64_t num_seen_ = 0;
};

}  // namespace spansort::mpi
