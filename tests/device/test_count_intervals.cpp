// SPDX-License-Identifier: Apache-2.0
// Counting keys between splitters, and collecting them: sizes around vectors, blocks and tiles, every type, more marked
// keys than fit.
#include <gtest/gtest.h>

#include <memory>

#include "device/host/host_device.hpp"
#include "spansort/generate.hpp"
#include "support/engines.hpp"
#include "support/environment.hpp"
#include "support/select_check.hpp"

namespace spansort::test {
namespace {

/// Draws splitters and marks, and asks.
std::string diagnose_drawn(device::device& device, key_type type, std::uint64_t num_keys, std::size_t num_splitters,
                           std::uint64_t seed) {
  random_words random(seed);
  const std::vector<std::byte> keys = make_keys(type, num_keys, {distribution_kind::entropy, 2}, seed);
  interval_case c{.type = type, .descending = random.below(2) == 0, .splitters = {}, .marked = random()};
  if (num_splitters != 0) c.splitters = draw_splitters(type, c.descending, keys, num_splitters, seed);
  c.capacity = random.below(3) == 0 ? random.below(num_keys + 1) : num_keys;
  return diagnose_intervals(device, keys, c);
}

TEST(count_intervals_test, EveryTypeAndSize) {
  const auto one = device::host::make_host_device({.num_threads = 1});
  const auto many = device::host::make_host_device({.num_threads = 3, .limits = {.piece_keys = 100}});
  std::uint64_t number = 0;
  std::vector<std::uint64_t> sizes{0, 1, 2, 31, 127, 128, 129, 1000, 16385};
  if (!is_small_scale()) sizes.insert(sizes.end(), {4096, 16383, 70'000});
  for (const key_type type : varied_key_types()) {
    for (const std::uint64_t num_keys : sizes) {
      for (const std::size_t num_splitters : {0, 1, 2, 7, 63}) {
        const std::uint64_t seed = seed_for(++number);
        EXPECT_EQ(diagnose_drawn(*one, type, num_keys, num_splitters, seed), "")
            << name(type) << ", " << num_keys << " keys, " << num_splitters << " splitters";
        EXPECT_EQ(diagnose_drawn(*many, type, num_keys, num_splitters, seed), "")
            << name(type) << ", " << num_keys << " keys, " << num_splitters << " splitters, in pieces";
      }
    }
  }
}

TEST(count_intervals_test, KeysThatBeginAnywhere) {
  const auto device = device::host::make_host_device({.num_threads = 2});
  for (const key_type type : {key_type::u8, key_type::f16, key_type::u32, key_type::f64}) {
    const std::vector<std::byte> keys = make_keys(type, 5000, {}, seed_for(1));
    for (std::uint64_t first_key = 0; first_key < 5; ++first_key) {
      interval_case c{.type = type, .splitters = {}, .marked = 0b010, .capacity = 5000, .first_key = first_key};
      c.splitters = draw_splitters(type, false, keys, 2, seed_for(2));
      EXPECT_EQ(diagnose_intervals(*device, keys, c), "") << name(type) << " from key " << first_key;
    }
  }
}

TEST(count_intervals_test, OneValueAlone) {
  const auto device = device::host::make_host_device({.num_threads = 2});
  std::vector<std::byte> keys(100'000, std::byte{7});
  keys[500] = std::byte{6};
  keys[700] = std::byte{8};
  // Between 7 and 8 are the sevens; their neighbours are collected.
  const interval_case c{.type = key_type::u8, .splitters = {7, 8}, .marked = 0b101, .capacity = 2};
  EXPECT_EQ(diagnose_intervals(*device, keys, c), "");
}

}  // namespace
}  // namespace spansort::test
