// SPDX-License-Identifier: Apache-2.0
// Drawn plans stay inside their width and show what is there; names follow the paper.
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>

#include "plan/draw_row.hpp"
#include "plan/notation.hpp"
#include "plan/planner.hpp"
#include "random_input.hpp"
#include "simulation.hpp"

namespace spansort::plan::test {
namespace {

TEST(Notation, NamesBucketsByTheirDigits) {
  EXPECT_EQ(bucket_name({0, 0}, 8), "[]");
  EXPECT_EQ(bucket_name({0x01ff, 16}, 8), "[1:ff]");
  EXPECT_EQ(bucket_name({0b1011'1, 5}, 4), "[b:1]");  // the last digit is narrower
  EXPECT_EQ(bucket_name({~std::uint64_t{0}, 64}, 12), "[fff:fff:fff:fff:fff:f]");
  EXPECT_EQ(bits_name({24, 32}), "[32..24)");
}

TEST(Notation, WritesNumbersForPeople) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1000), "1,000");
  EXPECT_EQ(grouped(~std::uint64_t{0}), "18,446,744,073,709,551,615");
  EXPECT_EQ(abbreviated(999), "999");
  EXPECT_EQ(abbreviated(1000), "1.0k");
  EXPECT_EQ(abbreviated(99'960), "100k");
  EXPECT_EQ(abbreviated(999'499), "999k");
  EXPECT_EQ(abbreviated(999'500), "1.0M");
  EXPECT_EQ(abbreviated(~std::uint64_t{0}), "18.4E");
  EXPECT_EQ(counted(1, "key"), "1 key");
}

TEST(Boxes, FollowTheCounts) {
  EXPECT_EQ(draw_boxes({{"[0]", 3, false}, {"[1]", 1, false}}, 21), "|[0]           |[1] |");
  EXPECT_EQ(draw_boxes({{"[0]", 3, true}, {"[1]", 1, false}}, 21), "|[0]///////////|[1] |");
  EXPECT_EQ(draw_boxes({}, 21), "|");
}

TEST(Boxes, ShareWhereNamesDoNotFit) {
  std::vector<piece> pieces = {{"[0]", 100, false}};
  for (const char* name : {"[1]", "[2]", "[3]", "[4]", "[5]", "[6]"}) pieces.push_back({name, 5, false});
  EXPECT_EQ(draw_boxes(pieces, 26), "|[0]            |[1]..[6]|");
}

TEST(Boxes, AreExactlyAsWideAsAsked) {
  for_each_seed(500, [](generator& random) {
    std::vector<piece> pieces;
    const std::uint64_t num_pieces = pick(random, 1, 300);
    for (std::uint64_t i = 0; i < num_pieces; ++i) {
      pieces.push_back({bucket_name({i, 16}, 8), pick(random, 1, pick(random, 1, 5000)), pick(random, 0, 99) == 0});
    }
    const std::size_t columns = pick(random, 3, 150);
    EXPECT_EQ(draw_boxes(pieces, columns).size(), columns);
  });
}

TEST(Drawing, StaysInsideAHundredColumns) {
  for_each_seed(300, [](generator& random) {
    parameters p = random_parameters(random, 3000);
    give_random_sizes(random, p);
    simulation machine(p, random_keys(random, p));
    const sort_plan plan = machine.make_plan();
    std::istringstream text(draw(plan, 100));
    for (std::string line; std::getline(text, line);) {
      EXPECT_LE(line.size(), 100U) << line;
      EXPECT_TRUE(line.empty() || line.back() != ' ') << "a blank ends the line: " << line;
    }
  });
}

TEST(Drawing, SaysForEveryPassWhatSpansAndWhatMoves) {
  parameters p;
  p.num_keys = 1000;
  p.num_ranks = 3;
  p.key_bits = 16;
  simulation machine(p, std::vector<std::uint64_t>(1000, 0x0102));
  const std::string text = draw(machine.make_plan());
  for (const char* part : {"Plan: 1,000 keys of 16 bits over 3 ranks", "MSB [16..8)", "the next pass refines",
                           "MSB [8..0)", "equal keys, cut", "|[1:2]///", "0 of 1,000 keys change rank",
                           "from 2     .     .   334", "in order already"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
}

TEST(Drawing, ShowsChunksAndPartsOfGivenSizes) {
  parameters p;
  p.num_keys = 1000;
  p.num_ranks = 3;
  p.key_bits = 8;
  p.target_counts = {0, 900, 100};
  simulation machine(p, std::vector<std::uint64_t>(1000, 7));
  const std::string text = draw(machine.make_plan());
  for (const char* part : {"equal chunks of the input, given parts of the output", "slack 4 keys at each end of a part",
                           " 334 keys", " 900 keys", "   0 keys", "|[7]///"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
}

}  // namespace
}  // namespace spansort::plan::test
