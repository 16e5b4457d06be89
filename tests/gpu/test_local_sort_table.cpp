// SPDX-License-Identifier: Apache-2.0
// The choice among GPUs' local sorts. No GPU is needed: nothing is launched.
#include <gtest/gtest.h>

#include "device/cuda/local_sort/local_sort.hpp"

namespace spansort::device::cuda {
namespace {

record_shape shape_of(key_type type, unsigned value_bytes, keys::tie_rule ties) {
  return {{type, false, ties}, value_bytes};
}

std::string_view chosen(std::string_view preferred, const record_shape& shape) {
  return choose_local_sort(preferred, shape, 1000, {9, 0}).name;
}

TEST(local_sort_table_test, WithoutAWishTheNumberOfRecordsDecides) {
  for (const unsigned value_bytes : {0U, 4U, 8U, 16U}) {
    const record_shape shape = shape_of(key_type::u32, value_bytes, keys::tie_rule::by_input_order);
    const auto name_for = [&](std::uint64_t num_keys, compute_capability code, bool is_only_segment) {
      return choose_local_sort("", shape, num_keys, code, is_only_segment).name;
    };
    EXPECT_EQ(name_for(1000, {9, 0}, true), "block_sort");
    EXPECT_EQ(name_for(1000, {9, 0}, false), "block_sort");
    EXPECT_EQ(name_for(100'000, {9, 0}, true), "grid_sort");
    // Launches of many blocks that meet would wait for each other.
    EXPECT_EQ(name_for(100'000, {9, 0}, false), "onesweep");
    EXPECT_EQ(name_for(100'000'000, {9, 0}, true), "onesweep");
    // There is too little shared memory.
    EXPECT_EQ(name_for(1000, {7, 5}, true), "onesweep");
    EXPECT_EQ(name_for(100'000, {7, 5}, true), "onesweep");
    EXPECT_EQ(chosen("nothing of the table", shape_of(key_type::f64, value_bytes, keys::tie_rule::by_input_order)),
              "onesweep");
  }
}

TEST(local_sort_table_test, NarrowKeysAloneAreCounted) {
  const auto name_for = [](key_type type, unsigned value_bytes, std::uint64_t num_keys, bool is_only_segment) {
    const keys::tie_rule ties = value_bytes == 0 ? keys::tie_rule::by_bits : keys::tie_rule::by_input_order;
    return choose_local_sort("", shape_of(type, value_bytes, ties), num_keys, {9, 0}, is_only_segment).name;
  };
  for (const std::uint64_t num_keys : {std::uint64_t{2}, std::uint64_t{1} << 19, std::uint64_t{1} << 28}) {
    EXPECT_EQ(name_for(key_type::i8, 0, num_keys, true), "counting_sort");
    EXPECT_EQ(name_for(key_type::i8, 0, num_keys, false), "counting_sort");
    EXPECT_NE(name_for(key_type::i8, 4, num_keys, true), "counting_sort");
    EXPECT_NE(name_for(key_type::f16, 0, num_keys, false), "counting_sort");
  }
  EXPECT_EQ(name_for(key_type::f16, 0, std::uint64_t{1} << 28, true), "counting_sort");
  EXPECT_EQ(name_for(key_type::u16, 0, 1000, true), "block_sort");
  EXPECT_EQ(name_for(key_type::u8, 0, 100'000, true), "grid_sort");
  // Places are counted in 32 bits.
  EXPECT_EQ(name_for(key_type::u8, 0, std::uint64_t{1} << 32, true), "onesweep");
  EXPECT_EQ(name_for(key_type::u16, 0, std::uint64_t{1} << 32, true), "onesweep");
  EXPECT_EQ(local_sort_scratch_bytes(""), std::uint64_t{256} << 10);
  EXPECT_EQ(local_sort_scratch_bytes("counting_sort"), std::uint64_t{256} << 10);
  EXPECT_EQ(local_sort_scratch_bytes("block_sort"), 0u);
}

TEST(local_sort_table_test, AWishIsGrantedWhereItCanBe) {
  EXPECT_EQ(chosen("cub", shape_of(key_type::u32, 0, keys::tie_rule::by_bits)), "cub");
  EXPECT_EQ(chosen("cub", shape_of(key_type::i64, 8, keys::tie_rule::by_input_order)), "cub");
  EXPECT_EQ(chosen("cub", shape_of(key_type::f32, 0, keys::tie_rule::by_bits)), "cub");
  EXPECT_EQ(chosen("block_sort", shape_of(key_type::f32, 4, keys::tie_rule::by_input_order)), "block_sort");
  EXPECT_EQ(chosen("grid_sort", shape_of(key_type::u8, 16, keys::tie_rule::by_input_order)), "grid_sort");
  EXPECT_EQ(chosen("onesweep", shape_of(key_type::u32, 0, keys::tie_rule::by_bits)), "onesweep");
  EXPECT_EQ(local_sort_scratch_bytes("cub"), cub_scratch_bytes);
}

TEST(local_sort_table_test, WhatCubCannotSortIsSortedByOurs) {
  EXPECT_EQ(chosen("cub", shape_of(key_type::u16, 0, keys::tie_rule::by_bits)), "onesweep");
  EXPECT_EQ(chosen("cub", shape_of(key_type::u32, 16, keys::tie_rule::by_input_order)), "onesweep");
  // Ties of floats are folded, and what is folded cannot be decoded.
  EXPECT_EQ(chosen("cub", shape_of(key_type::f32, 4, keys::tie_rule::by_input_order)), "onesweep");
}

TEST(local_sort_table_test, PublishedSortsAreOfferedByName) {
  const record_shape shape = shape_of(key_type::f16, 16, keys::tie_rule::by_input_order);
  constexpr std::uint64_t num_keys = 1'000'000;
  for (const std::string_view name :
       {"onesweep", "lsd_reduce_then_scan", "satish_radix", "satish_merge", "msd_hybrid"}) {
    const local_sort_offer offered = offer(name, shape, num_keys);
    EXPECT_EQ(offered.why_not, "") << name;
    EXPECT_TRUE(offered.needs_alternate) << name;
    ASSERT_NE(find_local_sort(name), nullptr) << name;
    EXPECT_EQ(find_local_sort(name)->label, "local sort by " + std::string(name));
    EXPECT_TRUE(find_local_sort(name)->can_sort(shape, num_keys, {9, 0})) << name;
  }
  // The widths are those that include/spansort/options.hpp states.
  EXPECT_EQ(offer("onesweep", shape, num_keys).scratch_bytes, 0u);
  EXPECT_LE(offer("lsd_reduce_then_scan", shape, num_keys).scratch_bytes, std::uint64_t{9} << 20);
  EXPECT_LE(offer("satish_radix", shape, num_keys).scratch_bytes, num_keys / 6 + (std::uint64_t{64} << 10));
  EXPECT_LE(offer("satish_merge", shape, num_keys).scratch_bytes, num_keys / 16 + 16);
  EXPECT_EQ(offer("msd_hybrid", shape, num_keys).scratch_bytes, 0u);  // keys of two bytes are sorted by passes
  const record_shape wide = shape_of(key_type::u64, 8, keys::tie_rule::by_input_order);
  EXPECT_LE(offer("msd_hybrid", wide, num_keys).scratch_bytes, num_keys * 3 / 2 + (std::uint64_t{64} << 10));
}

TEST(local_sort_table_test, OthersAreRefusedWithAReason) {
  const record_shape shape = shape_of(key_type::u32, 0, keys::tie_rule::by_bits);
  for (const std::string_view name : {"paradis", "cub", "nothing of the table"}) {
    EXPECT_NE(offer(name, shape, 1000).why_not, "") << name;
    EXPECT_EQ(find_local_sort(name), nullptr) << name;
  }
}

}  // namespace
}  // namespace spansort::device::cuda
