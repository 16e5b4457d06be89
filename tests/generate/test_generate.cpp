// SPDX-License-Identifier: Apache-2.0
// The named distributions: what each promises, and that the bytes depend on type, count and seed alone.
#include <gtest/gtest.h>
#include <tbb/global_control.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "keys/codec.hpp"
#include "spansort/check.hpp"
#include "spansort/errors.hpp"
#include "spansort/generate.hpp"
#include "support/engines.hpp"
#include "support/environment.hpp"

namespace spansort {
namespace {

template <class T>
std::vector<T> draw(const std::string& d, std::uint64_t n, std::uint64_t seed = 1) {
  std::vector<T> keys(n);
  generate(as_key_span(std::span(keys)), parse_distribution(d), seed);
  return keys;
}

class generate_test : public testing::TestWithParam<key_type> {
 protected:
  [[nodiscard]] check_result check_drawn(const std::string& d, std::uint64_t n, bool descending) const {
    const auto keys = test::make_keys(GetParam(), n, parse_distribution(d), test::seed_for(n));
    return check(const_key_span(GetParam(), keys.data(), n), {.direction = keys::direction_of(descending)});
  }
  [[nodiscard]] bool is_float() const { return name(GetParam()).find('f') != std::string_view::npos; }
};

TEST_P(generate_test, ThreadsDoNotChangeTheBytes) {
  for (const distribution& d : all_distributions()) {
    for (const std::uint64_t n : {std::uint64_t{1}, std::uint64_t{63}, std::uint64_t{100'003}}) {
      const auto expected = test::make_keys(GetParam(), n, d, 9);
      const tbb::global_control one_thread(tbb::global_control::max_allowed_parallelism, 1);
      EXPECT_EQ(test::make_keys(GetParam(), n, d, 9), expected) << to_string(d) << " " << n;
    }
  }
}

TEST_P(generate_test, PartsMakeUpTheWhole) {
  const std::uint64_t width = size_bytes(GetParam());
  test::random_words words(test::seed_for(1));
  for (const distribution& d : all_distributions()) {
    for (const std::uint64_t n : {std::uint64_t{1}, std::uint64_t{63}, std::uint64_t{20'011}}) {
      const auto whole = test::make_keys(GetParam(), n, d, 9);
      std::vector<std::byte> parts(n * width);
      for (std::uint64_t first = 0, count = 0; first < n; first += count) {
        count = std::min(n - first, words.below(n) / 3 + 1);
        generate_part({GetParam(), parts.data() + first * width, count}, d, 9, first, n);
      }
      EXPECT_EQ(std::memcmp(parts.data(), whole.data(), n * width), 0) << to_string(d) << " " << n;
    }
  }
}

TEST(Generate, PartsOutsideOfTheWholeAreRefused) {
  std::array<std::uint8_t, 4> keys{};
  const key_span part = as_key_span(std::span(keys));
  EXPECT_NO_THROW(generate_part(part, {}, 1, 6, 10));
  EXPECT_THROW(generate_part(part, {}, 1, 7, 10), invalid_argument);
  EXPECT_THROW(generate_part(part, {}, 1, 11, 10), invalid_argument);
  EXPECT_THROW(generate_part(part, {}, 1, ~std::uint64_t{0}, 10), invalid_argument);
  EXPECT_THROW(generate_part(part, {}, 1, 0, 3), invalid_argument);
}

TEST_P(generate_test, SeedChangesTheBytes) {
  for (const distribution& d : all_distributions()) {
    if (d.kind == distribution_kind::zero) continue;
    const auto one = test::make_keys(GetParam(), 300, d, 1);
    const auto two = test::make_keys(GetParam(), 300, d, 2);
    // A sorted draw of few possible keys is the same for every seed.
    const bool may_agree =
        size_bytes(GetParam()) == 1 && (d.kind == distribution_kind::sorted || d.kind == distribution_kind::reverse);
    EXPECT_TRUE(may_agree || one != two) << to_string(d);
  }
}

TEST_P(generate_test, SortedAndReverseAreInOrderForEveryCount) {
  for (const std::uint64_t n : {0, 1, 2, 3, 255, 256, 257, 1000, 65535, 65536, 65537, 200'000}) {
    EXPECT_FALSE(check_drawn("sorted", n, false).first_disorder) << n;
    EXPECT_FALSE(check_drawn("reverse", n, true).first_disorder) << n;
  }
}

TEST_P(generate_test, SortedSpreadsOverTheRange) {
  constexpr std::uint64_t n = 1 << 17;
  const auto keys = test::make_keys(GetParam(), n, {distribution_kind::sorted}, 3);
  const check_result result = check(const_key_span(GetParam(), keys.data(), n));
  const double num_distinct = static_cast<double>(n - result.num_duplicates);
  const double num_possible = std::min(std::ldexp(1.0, static_cast<int>(8 * size_bytes(GetParam()))), double{n});
  EXPECT_GT(num_distinct, 0.6 * num_possible);
}

TEST_P(generate_test, FloatsAreFiniteWhereNothingElseIsAskedFor) {
  if (!is_float()) return;
  for (const distribution& d : all_distributions()) {
    if (d.kind == distribution_kind::entropy || d.kind == distribution_kind::special_floats) continue;
    if (d.kind == distribution_kind::last_digit_only) continue;  // begins at -inf
    const auto keys = test::make_keys(GetParam(), 20'000, d, 4);
    for (std::uint64_t i = 0; i < 20'000; ++i) {
      const std::string text = key_to_string(const_key_span(GetParam(), keys.data(), 20'000), i);
      ASSERT_EQ(text.find('n'), std::string::npos) << to_string(d) << ": " << text;
    }
  }
}

TEST_P(generate_test, NearlySortedHasFewDisorders) {
  constexpr std::uint64_t n = 100'000;
  const auto sorted = test::make_keys(GetParam(), n, {distribution_kind::sorted}, 5);
  const auto nearly = test::make_keys(GetParam(), n, {distribution_kind::nearly_sorted}, 5);
  std::uint64_t num_changed = 0;
  const std::size_t key_bytes = size_bytes(GetParam());
  for (std::uint64_t i = 0; i < n; ++i) {
    num_changed += std::memcmp(sorted.data() + i * key_bytes, nearly.data() + i * key_bytes, key_bytes) != 0;
  }
  EXPECT_GT(num_changed, n / 200);
  EXPECT_LT(num_changed, n / 50);
}

TEST_P(generate_test, SpecialFloatsHoldTheEdges) {
  const auto keys = test::make_keys(GetParam(), 20'000, {distribution_kind::special_floats}, 6);
  std::set<std::string> texts;
  for (std::uint64_t i = 0; i < 20'000; ++i) {
    texts.insert(key_to_string(const_key_span(GetParam(), keys.data(), 20'000), i));
  }
  const std::set<std::string> edges =
      is_float() ? std::set<std::string>{"0", "-0", "inf", "-inf", "nan", "1", "-1"} : std::set<std::string>{"0", "1"};
  EXPECT_TRUE(std::includes(texts.begin(), texts.end(), edges.begin(), edges.end()));
}

INSTANTIATE_TEST_SUITE_P(Types, generate_test, testing::ValuesIn(test::all_key_types()),
                         [](const auto& param) { return std::string(name(param.param)); });

TEST(Generate, UniformIntegersFillEveryByteEvenly) {
  const auto keys = draw<std::uint32_t>("uniform", 256'000);
  for (unsigned shift = 0; shift < 32; shift += 8) {
    std::vector<double> counts(256);
    for (const std::uint32_t key : keys) counts[(key >> shift) & 255] += 1;
    double chi_square = 0;  // 255 degrees of freedom: 350 is beyond the 99.99th percentile
    for (const double count : counts) chi_square += (count - 1000) * (count - 1000) / 1000;
    EXPECT_LT(chi_square, 350) << "shift " << shift;
  }
}

TEST(Generate, UniformFloatsLieInTheUnitInterval) {
  const auto keys = draw<float>("uniform", 100'000);
  double sum = 0;
  for (const float key : keys) {
    ASSERT_TRUE(key >= 0 && key < 1) << key;
    sum += key;
  }
  EXPECT_NEAR(sum / 100'000, 0.5, 0.005);
}

template <class T>
void expect_normal(double mean, double deviation) {
  const auto keys = draw<T>("normal", 200'000);
  double sum = 0, squares = 0, within = 0;
  for (const T key : keys) {
    const double z = (static_cast<double>(key) - mean) / deviation;
    sum += z;
    squares += z * z;
    within += std::fabs(z) < 1;
  }
  EXPECT_NEAR(sum / 200'000, 0, 0.02);
  EXPECT_NEAR(squares / 200'000, 1, 0.02);
  EXPECT_NEAR(within / 200'000, 0.6827, 0.01);
}

TEST(Generate, NormalHasItsMeanAndDeviation) {
  expect_normal<double>(0, 1);
  expect_normal<float>(0, 1);
  expect_normal<std::uint32_t>(0x1p31, 0x1p29);
  expect_normal<std::int64_t>(0, 0x1p61);
  expect_normal<std::uint16_t>(0x1p15, 0x1p13);
}

TEST(Generate, NormalIntegersUseTheirLowBits) {
  std::set<std::uint64_t> low_bits;
  for (const std::uint64_t key : draw<std::uint64_t>("normal", 100'000)) low_bits.insert(key & 0xfff);
  EXPECT_EQ(low_bits.size(), 4096u);
}

TEST(Generate, ZipfFrequenciesFallWithTheRank) {
  constexpr std::uint64_t n = 400'000;
  for (const double exponent : {0.5, 1.0, 1.5, 2.0}) {
    double weights = 0;  // of 256 ranks
    for (int rank = 1; rank <= 256; ++rank) weights += std::pow(rank, -exponent);
    std::vector<double> counts(256);
    for (const std::uint8_t key : draw<std::uint8_t>("zipf:" + std::to_string(exponent), n)) counts[key] += 1;
    for (const int rank : {1, 2, 3, 5, 10, 50, 200, 256}) {
      const double expected = n * std::pow(rank, -exponent) / weights;
      EXPECT_NEAR(counts[static_cast<std::size_t>(rank - 1)], expected, 5 * std::sqrt(expected) + 1)
          << "exponent " << exponent << ", rank " << rank;
    }
  }
}

TEST(Generate, ZipfWithExponentZeroIsUniformOverTheRanks) {
  const auto keys = draw<std::uint32_t>("zipf:0", 200'000);
  double sum = 0;
  for (const std::uint32_t key : keys) sum += static_cast<double>(key) / 0x1p32;
  EXPECT_NEAR(sum / 200'000, 0.5, 0.005);
  EXPECT_GT(*std::max_element(keys.begin(), keys.end()), 0xfff00000u);
  for (const std::int8_t key : draw<std::int8_t>("zipf:0", 10'000)) ASSERT_GE(key, 0);
}

TEST(Generate, ZipfEndsForExtremeExponents) {
  for (const char* d :
       {"zipf:1e-300", "zipf:0.999999999999", "zipf:1.000000000001", "zipf:50", "zipf:1e9", "zipf:1e300"}) {
    const auto keys = draw<std::uint64_t>(d, 1000);
    EXPECT_LE(*std::max_element(keys.begin(), keys.end()), 0xffffffffu) << d;
  }
  EXPECT_EQ(draw<std::uint64_t>("zipf:1e9", 1000), std::vector<std::uint64_t>(1000, 0));
}

TEST(Generate, EntropyAndsItsWords) {
  for (const int words : {1, 2, 4, 8}) {
    std::uint64_t num_set = 0;
    for (const std::uint64_t key : draw<std::uint64_t>("entropy:" + std::to_string(words), 20'000)) {
      num_set += static_cast<std::uint64_t>(std::popcount(key));
    }
    EXPECT_NEAR(static_cast<double>(num_set) / (20'000 * 64.0), std::ldexp(1.0, -words), 0.003) << words;
  }
}

TEST(Generate, StaggeredPiecesStayInTheirPartOfTheRange) {
  constexpr std::uint64_t n = 64'000;
  const auto keys = draw<std::uint32_t>("staggered", n);
  std::set<std::uint32_t> parts;
  for (std::uint64_t piece = 0; piece < 64; ++piece) {
    const std::uint32_t part = keys[piece * 1000] >> 26;
    for (std::uint64_t i = 0; i < 1000; ++i) ASSERT_EQ(keys[piece * 1000 + i] >> 26, part) << piece;
    parts.insert(part);
  }
  EXPECT_EQ(parts.size(), 64u);
  EXPECT_FALSE(std::is_sorted(keys.begin(), keys.end()));
}

TEST(Generate, BucketSortedHas64RunsOverTheWholeRange) {
  for (const std::uint64_t n : {1, 63, 64, 65, 1000, 64'001}) {
    const auto keys = draw<std::uint32_t>("bucket-sorted", n);
    std::uint64_t num_runs = 1;
    for (std::uint64_t i = 1; i < n; ++i) num_runs += keys[i] < keys[i - 1];
    EXPECT_LE(num_runs, 64u) << n;
    EXPECT_GE(num_runs, n == 64'001 ? 64u : 1u);
  }
}

TEST(Generate, OneSpanningBucketHoldsNineTenths) {
  std::map<std::uint32_t, std::uint64_t> counts;
  for (const std::uint32_t key : draw<std::uint32_t>("one-spanning", 100'000)) ++counts[key >> 16];
  std::uint64_t largest = 0;
  for (const auto& [upper, count] : counts) largest = std::max(largest, count);
  EXPECT_NEAR(static_cast<double>(largest), 90'000, 1000);
  EXPECT_GT(counts.size(), 5000u);
}

TEST(Generate, LastDigitOnlyStaysBelow256) {
  std::set<std::uint64_t> seen;
  for (const std::uint64_t key : draw<std::uint64_t>("last-digit-only", 10'000)) seen.insert(key);
  EXPECT_EQ(seen.size(), 256u);
  EXPECT_EQ(*seen.rbegin(), 255u);
}

/// Every type's 1000 keys of one distribution in one checksum; the place is part of the hash.
std::string fingerprint(const distribution& d) {
  multiset_checksum sum;
  const auto places = test::input_values(1000, 4);
  for (const key_type type : test::all_key_types()) {
    const auto keys = test::make_keys(type, 1000, d, 42);
    sum = sum + checksum_pairs(const_key_span(type, keys.data(), 1000), places.data(), 4);
  }
  return to_string(sum);
}

/// Files that people generated must come out again: a change here is a change of the interface.
TEST(Generate, BytesAreTheSameOnEveryMachine) {
  const std::map<std::string, std::string> golden{
      {"uniform", "42b11fc3ef24548b37b214751e0bbd03"},      {"normal", "e57b0e8a2af09a9d133a34f4e2318446"},
      {"zero", "b10d82470058c6f800dbe0bb4e7fc494"},         {"sorted", "8b54a93ce5d08e4d25d1c4a793c70143"},
      {"reverse", "46dba51ade46cffaf130ba5a47093aff"},      {"nearly-sorted", "4a6b9e8c907fab1972e2c3341d3fdc93"},
      {"staggered", "9358d2d6fb8fec52805785f32c77c4fd"},    {"bucket-sorted", "37eec981bc2c3851ca33923e5989b87b"},
      {"zipf:0.75", "1f4a3cca61d8e50634c65e83753304e3"},    {"zipf:1", "ee624c0385656524213b992ec798d783"},
      {"entropy:4", "eef88d6c634b5fc15fa6fe6ec9d3860e"},    {"last-digit-only", "95544247e34244f2ebb8fcff6134b2c8"},
      {"one-spanning", "ec3f6c9780f985dd5116690f886f2b94"}, {"special-floats", "8a8795de8c7a6805af9ec2393d87f131"},
  };
  auto distributions = all_distributions();
  distributions.push_back({distribution_kind::zipf, 0.75});
  for (const distribution& d : distributions) {
    const auto row = golden.find(to_string(d));
    EXPECT_EQ(fingerprint(d), row == golden.end() ? "" : row->second) << to_string(d);
  }
}

TEST(Generate, NamesGoBothWays) {
  EXPECT_EQ(all_distributions().size(), 13u);
  for (const distribution& d : all_distributions()) {
    const distribution parsed = parse_distribution(to_string(d));
    EXPECT_EQ(parsed.kind, d.kind);
    EXPECT_EQ(parsed.parameter, d.parameter);
  }
  EXPECT_EQ(to_string(parse_distribution("zipf:0.75")), "zipf:0.75");
  EXPECT_EQ(to_string(parse_distribution("entropy:64")), "entropy:64");
}

TEST(Generate, WrongNamesAndParametersAreRefused) {
  for (const char* text :
       {"", "gauss", "uniform:1", "zipf", "zipf:", "zipf:x", "zipf:-1", "zipf:nan", "zipf:inf", "zipf:1e999", "zipf:1 ",
        "zipf:1,5", "entropy", "entropy:0", "entropy:65", "entropy:1.5", "Uniform"}) {
    try {
      (void)parse_distribution(text);
      ADD_FAILURE() << "accepted '" << text << "'";
    } catch (const invalid_argument& e) {
      EXPECT_NE(std::string(e.what()), "") << text;
    }
  }
  std::vector<int> keys(3);
  EXPECT_THROW(generate(as_key_span(std::span(keys)), {distribution_kind::entropy, 0}, 1), invalid_argument);
  EXPECT_THROW(generate(as_key_span(std::span(keys)), {distribution_kind::zipf, -1}, 1), invalid_argument);
}

}  // namespace
}  // namespace spansort
