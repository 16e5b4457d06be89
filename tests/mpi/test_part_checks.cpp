// SPDX-License-Identifier: Apache-2.0
// A node rank finds what is wrong with its part of a sorted whole while that goes by in pieces: disorder within a
// piece, between two pieces and between two node ranks, elements that are not those that were read, and equal ones.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cluster_case.hpp"
#include "external/simple_order.hpp"
#include "mpi/part_checks.hpp"
#include "mpi/transport/mpi_handle.hpp"

namespace spansort::test {
namespace {

using numbers = std::vector<std::uint32_t>;
using pieces = std::vector<numbers>;

std::vector<tagged_number> tagged(const numbers& piece) {
  std::vector<tagged_number> all;
  for (const std::uint32_t number : piece) all.push_back({number, 0});
  return all;
}

std::byte* bytes_of(std::vector<tagged_number>& elements) { return reinterpret_cast<std::byte*>(elements.data()); }

class part_checks_test : public testing::Test {
 protected:
  /// Ten elements of each node rank, all behind those of the rank before.
  [[nodiscard]] static pieces right() {
    const std::uint32_t first = 100 * (world_rank() + 1);
    return {{first, first + 1, first + 1}, {}, {first + 1, first + 5, first + 6}, {first + 7}};
  }
  [[nodiscard]] multiset_checksum sum_of(const pieces& all) {
    multiset_checksum sum;
    for (const numbers& piece : all) {
      std::vector<tagged_number> elements = tagged(piece);
      sum = sum + order.checksum(bytes_of(elements), elements.size());
    }
    return sum;
  }
  /// Returns what is found where the last node rank's part is `last` and the others are as they should be.
  [[nodiscard]] std::string fault_of_last(const pieces& last, const multiset_checksum& read, bool verifies = true,
                                          bool of_all_is_wrong = false) {
    const bool is_last = world_rank() + 1 == world_size();
    mpi::part_checks checks(order, verifies);
    for (const numbers& piece : is_last ? last : right()) {
      std::vector<tagged_number> elements = tagged(piece);
      checks.add(bytes_of(elements), elements.size());
    }
    const std::string fault = checks.find_fault(*group, read);
    if (is_last) return fault;
    // What all have together is found by all.
    EXPECT_EQ(fault, of_all_is_wrong ? "the sorted elements are not those that were read" : "");
    return "";
  }
  [[nodiscard]] static std::string on_last(const char* fault) { return world_rank() + 1 == world_size() ? fault : ""; }

  tagged_order order;
  std::unique_ptr<transport::node_group> group = transport::make_node_group(MPI_COMM_WORLD);
};

TEST_F(part_checks_test, WhatIsInOrderHasNoFault) { EXPECT_EQ(fault_of_last(right(), sum_of(right())), ""); }

TEST_F(part_checks_test, APartOfNothingHasNoFault) {
  const bool is_last = world_rank() + 1 == world_size();
  EXPECT_EQ(fault_of_last({{}, {}}, is_last ? multiset_checksum{} : sum_of(right())), "");
}

TEST_F(part_checks_test, DisorderIsFoundWithinAPieceAndBetweenTwo) {
  const std::uint32_t first = 100 * (world_rank() + 1);
  const pieces within{{first, first + 2, first + 1}, {first + 1, first + 5}};
  EXPECT_EQ(fault_of_last(within, sum_of(world_rank() + 1 == world_size() ? within : right())),
            on_last("its element at 2 is out of order"));
  const pieces between{{first, first + 2}, {first + 1, first + 3, first}};
  EXPECT_EQ(fault_of_last(between, sum_of(world_rank() + 1 == world_size() ? between : right())),
            on_last("its element at 2 is out of order"))
      << "the first of two is told";
}

TEST_F(part_checks_test, APartThatBeginsTooEarlyIsFound) {
  const pieces early{{1, 2, 3}};
  const bool is_last = world_rank() + 1 == world_size();
  EXPECT_EQ(fault_of_last(early, sum_of(is_last ? early : right())),
            world_size() == 1 ? "" : on_last("it begins before its predecessor ends"));
}

TEST_F(part_checks_test, OtherElementsAreFoundByAll) {
  pieces other = right();
  other[0][0] -= 1;
  EXPECT_EQ(fault_of_last(other, sum_of(right()), true, true),
            on_last("the sorted elements are not those that were read"));
  EXPECT_EQ(fault_of_last(other, {}, false), "") << "who does not verify looks at the bounds alone";
}

TEST_F(part_checks_test, TheFirstOfEqualElementsIsKeptAcrossPieces) {
  const std::uint32_t first = 100 * (world_rank() + 1);
  mpi::part_checks checks(order, true);
  numbers kept;
  for (const numbers& piece : right()) {
    std::vector<tagged_number> elements = tagged(piece);
    const std::uint64_t num_kept = checks.add_and_keep_first(bytes_of(elements), elements.size());
    for (std::uint64_t i = 0; i < num_kept; ++i) kept.push_back(elements[i].number);
  }
  EXPECT_EQ(kept, (numbers{first, first + 1, first + 5, first + 6, first + 7}));
  EXPECT_EQ(checks.find_fault(*group, sum_of(right())), "") << "the checksum is of all that went by";
  EXPECT_FALSE(checks.begins_as_others_end(*group));
}

TEST_F(part_checks_test, AnElementOfBothSidesOfABoundIsFound) {
  // Every node rank but the second has the number of the others: that one has nothing.
  mpi::part_checks checks(order, true);
  std::vector<tagged_number> elements = tagged({7, 7});
  if (world_rank() != 1) checks.add(bytes_of(elements), elements.size());
  EXPECT_EQ(checks.begins_as_others_end(*group), world_rank() > 1);
}

/// An order that keeps one of two equal elements too many.
class careless_order : public tagged_order {
 public:
  [[nodiscard]] std::uint64_t remove_duplicates(const std::byte*, std::byte*, std::uint64_t count) const override {
    return count;
  }
};

TEST_F(part_checks_test, ADuplicateThatWasKeptIsFound) {
  const careless_order careless;
  for (const bool verifies : {true, false}) {
    mpi::part_checks checks(careless, verifies);
    std::vector<tagged_number> elements = tagged({7, 8, 8, 9});
    EXPECT_EQ(checks.add_and_keep_first(bytes_of(elements), elements.size()), 4u);
    const multiset_checksum sum = verifies ? careless.checksum(bytes_of(elements), 4) : multiset_checksum{};
    const std::string fault = checks.find_fault(*group, sum);
    const std::string of_first = verifies ? "duplicate at 2 of what was kept" : "";
    EXPECT_EQ(fault, world_rank() == 0 ? of_first : "it begins before its predecessor ends");
  }
}

}  // namespace
}  // namespace spansort::test
