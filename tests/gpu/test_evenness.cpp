// SPDX-License-Identifier: Apache-2.0
// These are tests of the bounds in tuning/even_keys_policy.hpp and tuning/even_segments_policy.hpp, which say what the
// pairs in a sample mean for the way of the keys. No GPU takes part.
#include <gtest/gtest.h>

#include <cstdint>

#include "device/cuda/tuning/even_keys_policy.hpp"
#include "device/cuda/tuning/even_segments_policy.hpp"

namespace spansort::test {
namespace {

TEST(even_keys_test, AreWhatChanceMakes) {
  using device::cuda::are_even;
  constexpr std::uint64_t n = std::uint64_t{1} << 28;
  constexpr std::uint64_t samples = device::cuda::even_keys_sizes_of(n).samples;
  EXPECT_TRUE(are_even(n, 131'072, 2'080));
  EXPECT_TRUE(are_even(n, 131'072 + 4 * 362, 2'080 + 4 * 46));
  EXPECT_FALSE(are_even(n, 170'000, 2'080));            // buckets are uneven
  EXPECT_FALSE(are_even(n, 131'072, 2'048 + 16 * 32));  // 16 keys a bin
  EXPECT_FALSE(are_even(n, samples * (samples - 1) / 2, samples * (samples - 1) / 2));
  EXPECT_TRUE(are_even(64, 0, 40));
  constexpr std::uint64_t few = std::uint64_t{1} << 22;
  EXPECT_TRUE(are_even(few, 8'192 + 4 * 90, 640 + 4 * 25));
  EXPECT_FALSE(are_even(few, 11'000, 640));
  EXPECT_FALSE(are_even(few, 8'192, 512 + 16 * 128));  // 16 keys a bin
  constexpr std::uint64_t most = std::uint64_t{1} << 30;
  EXPECT_TRUE(are_even(most, 2'097'152 + 4 * 1'448, 32'896 + 4 * 181));
  EXPECT_TRUE(are_even(most, 2'097'152, 32'768 + 4 * 128));
  EXPECT_FALSE(are_even(most, 2'097'152, 32'768 + 16 * 128 - 3 * 181));  // 16 keys a bin
}

TEST(even_keys_test, AreNotLookedAtAgainWhereTheyHaveManyCopies) {
  using device::cuda::is_worth_second_look;
  // Chance alone; four copies of each key, which have_few_copies() lets pass; and one more than are worth it.
  const auto expect_bounds = [](std::uint64_t n, std::uint64_t most_copies) {
    const std::uint64_t samples = device::cuda::even_keys_sizes_of(n).samples;
    const std::uint64_t pairs = samples * (samples - 1) / 2;
    const std::uint64_t by_chance = pairs >> 16;
    const std::uint64_t deviation = samples / 362;
    EXPECT_TRUE(is_worth_second_look(n, by_chance + 4 * deviation)) << n;
    EXPECT_TRUE(is_worth_second_look(n, by_chance + 4 * (pairs / n) + 4 * deviation)) << n;
    EXPECT_FALSE(is_worth_second_look(n, by_chance + (most_copies + 1) * (pairs / n))) << n;
    EXPECT_FALSE(is_worth_second_look(n, pairs)) << n;
  };
  expect_bounds(std::uint64_t{1} << 22, 12);
  expect_bounds(std::uint64_t{1} << 24, 26);
  expect_bounds(std::uint64_t{1} << 25, 16);
  expect_bounds(std::uint64_t{1} << 28, 75);
  expect_bounds(std::uint64_t{1} << 30, 72);
  EXPECT_TRUE(is_worth_second_look(64, 40));
}

TEST(even_keys_test, AreSpreadWhereBucketsFitBlocks) {
  using device::cuda::are_spread;
  constexpr std::uint64_t n = std::uint64_t{1} << 28;
  constexpr std::uint64_t buckets = std::uint64_t{1} << 16;
  constexpr std::uint64_t pairs = 131'072;  // by chance in a bucket
  EXPECT_TRUE(are_spread(n, buckets, 9'216, pairs, 2'080));
  EXPECT_TRUE(are_spread(n, buckets, 9'216, 2 * pairs, 2'080));
  EXPECT_FALSE(are_spread(n, buckets, 9'216, 5 * pairs / 2, 2'080));  // an average key's bucket has 10,240
  EXPECT_TRUE(are_spread(n, 4 * buckets, 9'216, 5 * pairs / 2, 2'080));
  EXPECT_FALSE(are_spread(n, 4 * buckets, 9'216, 3 * pairs, 2'080));
  EXPECT_FALSE(are_spread(2 * n, buckets, 8'192, pairs, 2'080));
  EXPECT_FALSE(are_spread(n, buckets, 9'216, pairs, 2'048 + 16 * 32));  // 16 copies of each key
  EXPECT_TRUE(are_spread(64, buckets, 8'192, 0, 40));
  constexpr std::uint64_t most = std::uint64_t{1} << 30;
  EXPECT_TRUE(are_spread(most, 4 * buckets, 9'216, 16 * pairs, 32'768 + 4 * 128));
  EXPECT_FALSE(are_spread(most, 4 * buckets, 9'216, 16 * pairs, 32'768 + 16 * 128 - 3 * 181));  // 16 copies of each key
}

TEST(even_keys_test, AreCountedWhereFewAreAlike) {
  using device::cuda::are_countable;
  constexpr std::uint64_t n = std::uint64_t{1} << 28;
  constexpr std::uint64_t samples = device::cuda::counted_keys_sizes_of(n).samples;
  constexpr std::uint64_t pairs = samples * (samples - 1) / 2;
  for (const bool have_values : {false, true}) {
    EXPECT_TRUE(are_countable(n, have_values, 131'072 + 3 * 362, 8'192 + 4 * 90));
    EXPECT_FALSE(are_countable(n, have_values, 131'072, 8'192 + 64 * 32));  // 64 copies of each value
    EXPECT_FALSE(are_countable(n, have_values, pairs, pairs));
    EXPECT_TRUE(are_countable(64, have_values, 0, 0));
  }
  EXPECT_TRUE(are_countable(n, false, pairs / 400, 8'192));  // floats of [0, 1)
  EXPECT_FALSE(are_countable(n, true, pairs / 400, 8'192));
  EXPECT_TRUE(are_countable(n, false, 131'072, 8'192 + 12 * 32));
  EXPECT_FALSE(are_countable(n, false, pairs / 1'850, 8'192 + 2'500));  // the AND of two words
  EXPECT_FALSE(are_countable(n, true, 131'072, 8'192 + 32 * 32));
  EXPECT_FALSE(are_countable(n, false, pairs / 100, 8'192));  // a tenth in one bucket
}

TEST(even_segments_test, AreCountedWhereFewAreAlike) {
  using device::cuda::is_countable_segment;
  constexpr std::uint64_t n = 8'000'000;
  // 8,192 samples have 32 keys of each value of 8 bits, and four pairs of them are one key.
  EXPECT_TRUE(is_countable_segment(n, {.same_key = 4 + 2 + 3 * 3, .largest_digit = 32 + 5 * 6}));
  EXPECT_TRUE(is_countable_segment(n, {.same_key = 4, .largest_digit = 128}));
  EXPECT_FALSE(is_countable_segment(n, {.same_key = 4, .largest_digit = 8'192 / 32}));
  EXPECT_TRUE(is_countable_segment(n, {.same_key = 16 * 4, .largest_digit = 32}));
  EXPECT_FALSE(is_countable_segment(n, {.same_key = 32 * 4, .largest_digit = 32}));            // 32 copies of each key
  EXPECT_FALSE(is_countable_segment(n, {.same_key = 4 + 82 * 81 / 2, .largest_digit = 114}));  // one key is a 100th
  EXPECT_FALSE(is_countable_segment(n, {.same_key = 33'550'336, .largest_digit = 8'192}));
}

TEST(even_segments_test, TakeTheFewestDigitsThatLeaveSmallBuckets) {
  using device::cuda::bucket_digits;
  using device::cuda::bucket_digits_of;
  using device::cuda::finished_records;
  constexpr finished_records alone{4'608, 9'216};
  EXPECT_EQ(bucket_digits_of(1'000'000, alone, 10), (bucket_digits{1, 8}));
  EXPECT_EQ(bucket_digits_of(4'320 * 256 - 1, alone, 10), (bucket_digits{1, 8}));
  EXPECT_EQ(bucket_digits_of(4'320 * 256, alone, 10), (bucket_digits{1, 10}));
  EXPECT_EQ(bucket_digits_of(8'640 * 1'024 - 1, alone, 10), (bucket_digits{1, 10}));
  EXPECT_EQ(bucket_digits_of(8'640 * 1'024, alone, 10), (bucket_digits{2, 8}));
  EXPECT_EQ(bucket_digits_of(1'000'000, alone, 10, 2), (bucket_digits{2, 8}));
  EXPECT_EQ(bucket_digits_of(std::uint64_t{1} << 30, alone, 10), (bucket_digits{2, 9}));
  EXPECT_EQ(bucket_digits_of(std::uint64_t{1} << 40, alone, 10), (bucket_digits{2, 9}));
  constexpr finished_records with_values{8'192, 8'192};
  EXPECT_EQ(bucket_digits_of(7'680 * 256 - 1, with_values, 9), (bucket_digits{1, 8}));
  EXPECT_EQ(bucket_digits_of(7'680 * 256, with_values, 9), (bucket_digits{1, 9}));
  EXPECT_EQ(bucket_digits_of(7'680 * 512, with_values, 9), (bucket_digits{2, 8}));
}

TEST(even_segments_test, AreWhatChanceMakes) {
  using device::cuda::evenness_of_segment;
  using device::cuda::segment_evenness;
  constexpr std::uint64_t n = 4'000'000;
  constexpr std::uint64_t in_digit = 32'764;  // pairs of 8,192 samples that 10 bits make
  const auto seen = [](std::uint64_t same_digit, std::uint64_t same_bucket, std::uint64_t same_key) {
    return evenness_of_segment(n, 10, 9'216, {same_digit, same_bucket, same_key});
  };
  EXPECT_EQ(seen(in_digit + 3 * 181, 1'024 + 4 * 32, 8 + 4 * 3), segment_evenness::even_by_one_digit);
  EXPECT_EQ(seen(in_digit + in_digit / 9, 1'060, 8), segment_evenness::even_by_one_digit);
  EXPECT_EQ(seen(in_digit + in_digit / 7, 1'060, 8), segment_evenness::even_by_two_digits);
  EXPECT_EQ(seen(in_digit, 3'000, 8), segment_evenness::uneven);
  EXPECT_EQ(seen(in_digit, 1'024, 4 * 8), segment_evenness::even_by_one_digit);  // four copies of each key
  EXPECT_EQ(seen(in_digit, 1'024, 8 * 8), segment_evenness::uneven);
  EXPECT_EQ(seen(33'550'336, 33'550'336, 33'550'336), segment_evenness::uneven);
  // Buckets of 7,812 records leave little room.
  EXPECT_EQ(evenness_of_segment(n, 9, 9'216, {65'528 + 3 * 256, 1'024, 8}), segment_evenness::even_by_one_digit);
  EXPECT_EQ(evenness_of_segment(n, 9, 9'216, {65'528 + 65'528 / 40, 1'060, 8}), segment_evenness::even_by_two_digits);
  EXPECT_EQ(evenness_of_segment(n, 0, 9'216, {0, 1'024, 8}), segment_evenness::even_by_two_digits);
  // A sample of few keys has each of them many times.
  constexpr std::uint64_t of_one_key = 33'550'336 / 64;
  EXPECT_EQ(evenness_of_segment(64, 8, 9'216, {131'056 + of_one_key, 1'024 + of_one_key, of_one_key}),
            segment_evenness::even_by_one_digit);
}

}  // namespace
}  // namespace spansort::test
