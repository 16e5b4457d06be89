// SPDX-License-Identifier: Apache-2.0
// CONTRIBUTING.md promises this: an algorithm is one driver file (toy.cpp) and its name in the registry. Then the
// public calls, the errors and the help text know it, and every device list can be given to it.
#include <gtest/gtest.h>

#include <algorithm>

#include "algorithms/registry.hpp"
#include "spansort/errors.hpp"
#include "spansort/resident.hpp"
#include "spansort/sort.hpp"
#include "support/engines.hpp"
#include "support/environment.hpp"

namespace spansort::algorithms {

extern const entry toy_algorithm;

}  // namespace spansort::algorithms

namespace spansort::test {
namespace {

class AddedAlgorithm : public testing::Test {
 protected:
  algorithms::added_algorithm added_{algorithms::toy_algorithm};
};

TEST_F(AddedAlgorithm, SortsWhatAllOthersSort) {
  constexpr std::uint64_t seed = 20;
  const operation operations[] = {{},
                                  {operation::kind::pairs, 1},
                                  {operation::kind::pairs, 8},
                                  {operation::kind::pairs, 40},
                                  {operation::kind::argsort, 4},
                                  {operation::kind::argsort, 8}};
  for (const std::string devices : {"cpu", "host:3"}) {
    for (const bool descending : {false, true}) {
      sorter s({.devices = devices, .algorithm = parse_algorithm("toy")});
      for (const key_type type : all_key_types()) {
        for (const std::uint64_t num_keys : {0, 1, 2, 1000, test::is_small_scale() ? 3000 : 20'000}) {
          const oracle expected = make_oracle(type, num_keys, parse_distribution("zipf:1"), seed, descending);
          for (const operation& op : operations) {
            ASSERT_EQ(diagnose_sort(s, expected, op), "")
                << describe(op) << " of " << num_keys << " " << name(type) << " on " << devices << ", seed " << seed;
          }
        }
      }
    }
  }
}

TEST_F(AddedAlgorithm, IsNamedInTheReport) {
  sort_report report;
  std::vector<int> keys{3, 1, 2};
  sort(keys, {.algorithm = parse_algorithm("toy"), .report = &report});
  EXPECT_EQ(keys, (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(report.algorithm, "toy");
  EXPECT_EQ(report.picked, "toy: asked for");
}

TEST_F(AddedAlgorithm, IsListedAndDescribed) {
  const algorithm toy = parse_algorithm("toy");
  EXPECT_EQ(std::ranges::count(list_algorithms(), toy), 1);
  EXPECT_EQ(description(toy), "std::stable_sort of indices");
  try {
    static_cast<void>(parse_algorithm("toys"));
    FAIL() << "no exception";
  } catch (const invalid_argument& refusal) {
    EXPECT_NE(std::string(refusal.what()).find(" toy"), std::string::npos) << refusal.what();
  }
}

TEST_F(AddedAlgorithm, IsRefusedWhatItsTraitsDoNotTake) {
  std::vector<std::uint32_t> keys(4);
  shard whole{.keys = keys.data(), .num_keys = keys.size()};
  const sort_options options{.devices = "host:1", .algorithm = parse_algorithm("toy")};
  EXPECT_THROW(sort(sharded_keys{key_type::u32, {&whole, 1}}, options), invalid_argument);
}

TEST(RemovedAlgorithm, IsUnknownAgain) {
  { const algorithms::added_algorithm added(algorithms::toy_algorithm); }
  EXPECT_THROW(static_cast<void>(parse_algorithm("toy")), invalid_argument);
}

}  // namespace
}  // namespace spansort::test
