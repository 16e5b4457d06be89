// SPDX-License-Identifier: Apache-2.0
// Segmented sorts of host memory: every type in both directions, segments of all shapes and numbers of threads, against
// the reference on each segment; and arguments that are refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <ranges>
#include <string>
#include <vector>

#include "base/test_hooks.hpp"
#include "spansort/errors.hpp"
#include "spansort/report.hpp"
#include "spansort/segmented.hpp"
#include "support/engines.hpp"
#include "support/environment.hpp"
#include "support/guarded_array.hpp"
#include "support/oracle.hpp"

namespace spansort::test {
namespace {

/// Lengths of segments by name.
struct shape_case {
  std::string name;
  std::vector<std::uint64_t> lengths;
};

std::vector<std::uint64_t> random_lengths(std::uint64_t count, std::uint64_t most, std::mt19937_64& random) {
  std::vector<std::uint64_t> lengths(count);
  for (std::uint64_t& n : lengths) n = random() % (most + 1);
  return lengths;
}

std::vector<shape_case> shapes(std::mt19937_64& random) {
  std::vector<shape_case> all{
      {"none", {}},
      {"one", {1000}},
      {"all empty", std::vector<std::uint64_t>(50, 0)},
      {"every small length", {}},
      {"tens", std::vector<std::uint64_t>(300, 10)},
      {"around powers", {31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257, 511, 512, 513, 1025, 2047, 2049}},
      {"random", random_lengths(400, 40, random)},
      {"one huge and many tiny", random_lengths(500, 5, random)},
      {"zipf", {}}};
  for (std::uint64_t n = 0; n <= 70; ++n) all[3].lengths.push_back(n);
  all[7].lengths[250] = is_small_scale() ? 3000 : 70'000;
  for (std::uint64_t i = 1; i <= 200; ++i) all[8].lengths.push_back((is_small_scale() ? 1000 : 4000) / i);
  std::ranges::shuffle(all[8].lengths, random);
  return all;
}

template <class T>
std::vector<T> offsets_of(const std::vector<std::uint64_t>& lengths, std::uint64_t first) {
  std::vector<T> offsets{static_cast<T>(first)};
  for (const std::uint64_t n : lengths)
    offsets.push_back(static_cast<T>(static_cast<std::uint64_t>(offsets.back()) + n));
  return offsets;
}

/// The result that a segmented sort should have, made by the reference, segment after segment.
struct expected_segments {
  std::vector<std::byte> keys_alone;
  std::vector<std::byte> keys_of_pairs;
  std::vector<std::uint64_t> order;  ///< by position in the array; outside of segments its own position
};

expected_segments expect(key_type type, bool descending, const std::vector<std::byte>& keys,
                         const std::vector<std::uint64_t>& offsets) {
  const std::uint64_t width = size_bytes(type);
  expected_segments all{keys, keys, std::vector<std::uint64_t>(keys.size() / width)};
  for (std::uint64_t i = 0; i < all.order.size(); ++i) all.order[i] = i;
  for (std::size_t s = 0; s + 1 < offsets.size(); ++s) {
    const std::uint64_t begin = offsets[s];
    const oracle one(const_key_span(type, keys.data() + begin * width, offsets[s + 1] - begin), descending);
    std::ranges::copy(one.keys_alone(), all.keys_alone.begin() + static_cast<std::ptrdiff_t>(begin * width));
    std::ranges::copy(one.keys_of_pairs(), all.keys_of_pairs.begin() + static_cast<std::ptrdiff_t>(begin * width));
    for (std::uint64_t i = 0; i < one.num_keys(); ++i) all.order[begin + i] = begin + one.order()[i];
  }
  return all;
}

/// One input and what is expected of it.
struct segments_case {
  std::string what;
  key_type type = key_type::u8;
  direction d = direction::ascending;
  std::vector<std::byte> keys;
  std::vector<std::uint64_t> offsets;
  expected_segments expected;

  [[nodiscard]] std::uint64_t num_keys() const { return keys.size() / size_bytes(type); }
};

segments_case make_case(key_type type, direction d, const shape_case& shape, std::uint64_t seed) {
  constexpr std::uint64_t lead = 3;  // keys before the first segment and behind the last
  segments_case c;
  c.what = shape.name + " of seed " + std::to_string(seed);
  c.type = type;
  c.d = d;
  c.offsets = offsets_of<std::uint64_t>(shape.lengths, lead);
  c.keys.resize((c.offsets.back() + lead) * size_bytes(type));
  const std::vector<distribution> from = all_distributions();
  generate(key_span(type, c.keys.data(), c.num_keys()), from[seed % from.size()], seed);
  c.expected = expect(type, d == direction::descending, c.keys, c.offsets);
  return c;
}

void expect_keys(const segments_case& c, const_key_span offsets, const sort_options& options) {
  guarded_array sorted(c.keys, 0);
  sort_segments(key_span(c.type, sorted.data(), c.num_keys()), offsets, c.d, options);
  ASSERT_TRUE(std::ranges::equal(sorted.bytes(), c.expected.keys_alone)) << c.what;
  ASSERT_EQ(sorted.corruption(), "") << c.what;
}

void expect_pairs(const segments_case& c, const_key_span offsets, std::uint64_t value_bytes,
                  const sort_options& options) {
  guarded_array sorted(c.keys, 0);
  guarded_array values(input_values(c.num_keys(), value_bytes), 0);
  sort_pairs_segments(key_span(c.type, sorted.data(), c.num_keys()), values.data(), value_bytes, offsets, c.d, options);
  ASSERT_TRUE(std::ranges::equal(sorted.bytes(), c.expected.keys_of_pairs)) << c.what;
  ASSERT_TRUE(std::ranges::equal(values.bytes(), values_in_order(c.expected.order, value_bytes)))
      << c.what << " values of " << value_bytes;
  ASSERT_EQ(sorted.corruption() + values.corruption(), "") << c.what;
}

template <class I>
void expect_order(const segments_case& c, const_key_span offsets, const sort_options& options) {
  constexpr I untouched = 77;
  std::vector<I> indices(c.num_keys(), untouched);
  argsort_segments(const_key_span(c.type, c.keys.data(), c.num_keys()), indices.data(), sizeof(I), offsets, c.d,
                   options);
  std::vector<I> expected(c.num_keys(), untouched);
  for (std::size_t s = 0; s + 1 < c.offsets.size(); ++s) {
    for (std::uint64_t i = c.offsets[s]; i < c.offsets[s + 1]; ++i) {
      expected[i] = static_cast<I>(c.expected.order[i] - c.offsets[s]);
    }
  }
  ASSERT_EQ(indices, expected) << c.what;
}

class segmented_test : public testing::TestWithParam<key_type> {};

TEST_P(segmented_test, EveryShapeAndDirection) {
  std::mt19937_64 random(seed_for(1));
  std::uint64_t round = 0;
  for (const shape_case& shape : shapes(random)) {
    for (const direction d : {direction::ascending, direction::descending}) {
      const segments_case c = make_case(GetParam(), d, shape, seed_for(++round));
      const std::vector<std::uint32_t> narrow(c.offsets.begin(), c.offsets.end());
      const const_key_span wide_offsets = as_const_key_span(std::span(c.offsets));
      const const_key_span narrow_offsets = as_const_key_span(std::span(narrow));
      for (const unsigned threads : {1, 2, 8}) {
        const sort_options options{.devices = "cpu", .threads = threads};
        expect_keys(c, threads == 2 ? narrow_offsets : wide_offsets, options);
        expect_pairs(c, wide_offsets, std::array<std::uint64_t, 5>{4, 8, 16, 12, 40}[(round + threads) % 5], options);
        expect_order<std::uint32_t>(c, narrow_offsets, options);
        expect_order<std::int64_t>(c, wide_offsets, options);
      }
    }
  }
}

// Segments that are too large for one thread's small sorts go another way, which a thousand keys do not reach.
TEST_P(segmented_test, LargeSegmentsByOneThreadAndByAll) {
  std::mt19937_64 random(seed_for(1));
  const base::test_hooks_scope hooks({.host_inline_keys = 100});
  const shape_case shape{"large", [&] {
                           std::vector<std::uint64_t> lengths = random_lengths(150, 300, random);
                           lengths.insert(lengths.end(), {20'000, 7, 101, 5000});
                           return lengths;
                         }()};
  for (const unsigned threads : {1, 2, 8}) {
    const segments_case c = make_case(GetParam(), direction::descending, shape, seed_for(threads));
    const const_key_span offsets = as_const_key_span(std::span(c.offsets));
    expect_keys(c, offsets, {.threads = threads});
    expect_pairs(c, offsets, 8, {.threads = threads});
    expect_order<std::uint32_t>(c, offsets, {.threads = threads});
  }
}

TEST_P(segmented_test, RowsAreSegmentsOfOneLength) {
  for (const std::uint64_t length : {1, 2, 7, 10, 33, 300}) {
    const shape_case shape{"rows of " + std::to_string(length), std::vector<std::uint64_t>(40, length)};
    segments_case c = make_case(GetParam(), direction::ascending, shape, seed_for(length));
    // Rows have nothing before or behind them.
    const std::uint64_t width = size_bytes(c.type);
    c.keys = {c.keys.begin() + static_cast<std::ptrdiff_t>(3 * width),
              c.keys.end() - static_cast<std::ptrdiff_t>(3 * width)};
    for (std::uint64_t& offset : c.offsets) offset -= 3;
    c.expected = expect(c.type, false, c.keys, c.offsets);
    std::vector<std::byte> keys = c.keys;
    sort_rows(key_span(c.type, keys.data(), c.num_keys()), length);
    ASSERT_EQ(keys, c.expected.keys_alone) << c.what;
    keys = c.keys;
    std::vector<std::byte> values = input_values(c.num_keys(), 4);
    sort_pairs_rows(key_span(c.type, keys.data(), c.num_keys()), values.data(), 4, length);
    ASSERT_EQ(keys, c.expected.keys_of_pairs) << c.what;
    ASSERT_EQ(values, values_in_order(c.expected.order, 4)) << c.what;
    std::vector<std::uint32_t> order(c.num_keys());
    argsort_rows(const_key_span(c.type, c.keys.data(), c.num_keys()), order.data(), 4, length);
    for (std::uint64_t i = 0; i < order.size(); ++i) ASSERT_EQ(order[i], c.expected.order[i] % length) << c.what;
  }
}

INSTANTIATE_TEST_SUITE_P(Sort, segmented_test,
                         testing::Values(key_type::u8, key_type::i8, key_type::u16, key_type::i16, key_type::u32,
                                         key_type::i32, key_type::u64, key_type::i64, key_type::f16, key_type::bf16,
                                         key_type::f32, key_type::f64),
                         [](const testing::TestParamInfo<key_type>& type) { return std::string(name(type.param)); });

TEST(Segmented, RangesOfEveryKind) {
  std::vector<float> keys{3, 1, 2, 9, 8};
  const std::vector<std::int32_t> offsets{0, 3, 3, 5};
  std::array<std::uint16_t, 5> values{0, 1, 2, 3, 4};
  std::vector<std::int32_t> order(5);
  argsort_segments(keys, order, offsets);
  EXPECT_EQ(order, (std::vector<std::int32_t>{1, 2, 0, 1, 0}));
  sort_pairs_segments(keys, values, offsets, direction::descending);
  EXPECT_EQ(keys, (std::vector<float>{3, 2, 1, 9, 8}));
  EXPECT_EQ(values, (std::array<std::uint16_t, 5>{0, 2, 1, 3, 4}));
  sort_segments(std::span(keys), offsets);
  EXPECT_EQ(keys, (std::vector<float>{1, 2, 3, 8, 9}));
  std::vector<double> matrix{3, 1, 2, 0};
  argsort_rows(matrix, std::span(order).first(4), 2);
  EXPECT_EQ(order, (std::vector<std::int32_t>{1, 0, 1, 0, 0}));
  sort_pairs_rows(matrix, std::span(order).first(4), 2, direction::descending);
  sort_rows(matrix, 4);
  EXPECT_EQ(matrix, (std::vector<double>{0, 1, 2, 3}));
}

TEST(Segmented, WrongOffsetsAreRefusedBeforeAnythingIsTouched) {
  const std::vector<std::uint32_t> input{5, 4, 3, 2, 1};
  std::vector<std::uint32_t> keys = input;
  std::vector<std::uint32_t> order(5, 9);
  const auto refuse = [&](const auto& offsets) {
    EXPECT_THROW(sort_segments(keys, offsets), invalid_argument);
    EXPECT_THROW(sort_pairs_segments(keys, order, offsets), invalid_argument);
    EXPECT_THROW(argsort_segments(keys, order, offsets), invalid_argument);
    EXPECT_EQ(keys, input);
    EXPECT_EQ(order, std::vector<std::uint32_t>(5, 9));
  };
  refuse(std::vector<std::uint32_t>{});
  refuse(std::vector<std::uint32_t>{0, 3, 2, 5});
  refuse(std::vector<std::uint64_t>{0, 3, 6});
  refuse(std::vector<std::int32_t>{-1, 3, 5});
  refuse(std::vector<std::int64_t>{0, 3, -2});
  refuse(std::vector<std::int64_t>{-1, 5});  // as unsigned numbers, 6 apart modulo 2^64
  refuse(std::vector<std::int64_t>{0, -4, 1, 5});
  refuse(std::vector<std::int32_t>{-3, -2});
  const std::vector<std::uint16_t> narrow{0, 5};
  EXPECT_THROW(sort_segments(as_key_span(std::span(keys)), as_const_key_span(std::span(narrow))), invalid_argument);
  EXPECT_THROW(sort_segments(keys, keys), invalid_argument);
  EXPECT_THROW(sort_rows(keys, 2), invalid_argument);
  EXPECT_THROW(sort_rows(keys, 0), invalid_argument);
  EXPECT_EQ(keys, input);
}

TEST(Segmented, OtherWrongArguments) {
  std::vector<std::uint32_t> keys{5, 4, 3};
  std::vector<std::uint32_t> values{0, 1};
  const std::vector<std::uint32_t> offsets{0, 3};
  EXPECT_THROW(sort_pairs_segments(keys, values, offsets), invalid_argument);
  EXPECT_THROW(argsort_segments(keys, values, offsets), invalid_argument);
  EXPECT_THROW(sort_segments(keys, offsets, direction::ascending, {.algorithm = algorithm::rmg}), invalid_argument);
  EXPECT_THROW(sort_segments(keys, offsets, direction::ascending, {.devices = "gpu"}), invalid_argument);
  EXPECT_THROW(sort_segments(keys, offsets, direction::ascending, {.threads = 5000}), invalid_argument);
  std::vector<std::uint32_t> both{0, 3, 2, 1};  // offsets of one segment, and keys of which the first is an offset, too
  EXPECT_THROW(sort_segments(std::span(both).last(3), std::span(both).first(2)), invalid_argument);
  EXPECT_EQ(both, (std::vector<std::uint32_t>{0, 3, 2, 1}));
  const const_key_span where = as_const_key_span(std::span(offsets));
  EXPECT_THROW(argsort_segments(as_const_key_span(std::span<const std::uint32_t>(keys)), values.data(), 2, where),
               invalid_argument);
  EXPECT_THROW(sort_pairs_segments(as_key_span(std::span(keys)), nullptr, 4, where), invalid_argument);
  EXPECT_EQ(keys, (std::vector<std::uint32_t>{5, 4, 3}));
}

TEST(Segmented, WrongIndicesAreRefusedByTheirOwnName) {
  std::vector<std::uint32_t> keys{5, 4, 3, 2};
  const std::vector<std::uint32_t> offsets{0, 4};
  const const_key_span spanned = as_const_key_span(std::span<const std::uint32_t>(keys));
  const const_key_span where = as_const_key_span(std::span(offsets));
  const auto refusal_of = [&](void* indices, bool by_rows) -> std::string {
    try {
      if (by_rows) {
        argsort_rows(spanned, indices, 4, 2);
      } else {
        argsort_segments(spanned, indices, 4, where);
      }
    } catch (const invalid_argument& refused) {
      return refused.what();
    }
    return "";
  };
  for (const bool by_rows : {false, true}) {
    EXPECT_EQ(refusal_of(nullptr, by_rows), "indices: null pointer for 4 elements");
    EXPECT_EQ(refusal_of(keys.data(), by_rows), "keys and indices overlap");
    EXPECT_EQ(refusal_of(keys.data() + 3, by_rows), "keys and indices overlap");
  }
  EXPECT_EQ(keys, (std::vector<std::uint32_t>{5, 4, 3, 2}));
}

TEST(Segmented, LimitOnMemoryAndReport) {
  std::vector<std::uint32_t> keys{5, 4, 3};
  const std::vector<std::uint32_t> offsets{0, 2, 3};
  EXPECT_THROW(sort_segments(keys, offsets, direction::ascending, {.memory_limit_bytes = 1000}), out_of_memory);
  EXPECT_EQ(keys[0], 5u);
  sort_report report;
  sort_segments(keys, offsets, direction::ascending, {.memory_limit_bytes = std::uint64_t{1} << 40, .report = &report});
  EXPECT_EQ(keys, (std::vector<std::uint32_t>{4, 5, 3}));
  EXPECT_EQ(report.operation, "sort_segments");
  EXPECT_EQ(report.num_keys, 3u);
  EXPECT_GT(report.workspace_bytes, 0u);
}

}  // namespace
}  // namespace spansort::test
