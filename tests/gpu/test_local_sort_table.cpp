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

TEST(local_sort_table_test, WithoutAWishTheFirstIsTaken) {
  for (const unsigned value_bytes : {0U, 4U, 8U, 16U}) {
    EXPECT_EQ(chosen("", shape_of(key_type::u32, value_bytes, keys::tie_rule::by_input_order)), "onesweep");
    EXPECT_EQ(chosen("nothing of the table", shape_of(key_type::f64, value_bytes, keys::tie_rule::by_input_order)),
              "onesweep");
  }
  EXPECT_EQ(local_sort_scratch_bytes(""), 0u);
}

TEST(local_sort_table_test, AWishIsGrantedWhereItCanBe) {
  EXPECT_EQ(chosen("cub", shape_of(key_type::u32, 0, keys::tie_rule::by_bits)), "cub");
  EXPECT_EQ(chosen("cub", shape_of(key_type::i64, 8, keys::tie_rule::by_input_order)), "cub");
  EXPECT_EQ(chosen("cub", shape_of(key_type::f32, 0, keys::tie_rule::by_bits)), "cub");
  EXPECT_EQ(chosen("onesweep", shape_of(key_type::u32, 0, keys::tie_rule::by_bits)), "onesweep");
  EXPECT_EQ(local_sort_scratch_bytes("cub"), cub_scratch_bytes);
}

TEST(local_sort_table_test, WhatCubCannotSortIsSortedByOurs) {
  EXPECT_EQ(chosen("cub", shape_of(key_type::u16, 0, keys::tie_rule::by_bits)), "onesweep");
  EXPECT_EQ(chosen("cub", shape_of(key_type::u32, 16, keys::tie_rule::by_input_order)), "onesweep");
  // Ties of floats are folded, and what is folded cannot be decoded.
  EXPECT_EQ(chosen("cub", shape_of(key_type::f32, 4, keys::tie_rule::by_input_order)), "onesweep");
}

}  // namespace
}  // namespace spansort::device::cuda
