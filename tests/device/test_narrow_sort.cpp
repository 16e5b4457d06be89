// SPDX-License-Identifier: Apache-2.0
// The vector sort of keys of 8 and 16 bits against std::sort of encoded keys: every type, both directions, sizes around
// those of networks and partitions, keys that lie evenly, that crowd, that repeat, and samples that deceive. Nothing is
// written beyond the keys and beyond what the scratch has to spare.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "device/host/narrow_sort.hpp"
#include "device/host/network_sort.hpp"
#include "device/host/vector_sort.hpp"
#include "support/environment.hpp"

namespace spansort::device::host {
namespace {

enum class kind { uniform, crowded, few, zero_one, sorted, reverse, slope, almost_constant, deceiving };
constexpr kind all_kinds[] = {kind::uniform,  kind::crowded,         kind::few,
                              kind::zero_one, kind::sorted,          kind::reverse,
                              kind::slope,    kind::almost_constant, kind::deceiving};

template <class K>
std::vector<K> make_keys(kind what, std::uint64_t num_keys, std::mt19937_64& random) {
  std::vector<K> keys(num_keys);
  const auto any = [&] { return static_cast<K>(random()); };
  for (std::uint64_t i = 0; i < num_keys; ++i) {
    switch (what) {
      case kind::uniform:
      case kind::sorted:
      case kind::reverse: keys[i] = any(); break;
      case kind::crowded: keys[i] = any() & any() & any() & any(); break;
      case kind::few: keys[i] = static_cast<K>(any() % 3 * 77); break;
      case kind::zero_one: keys[i] = any() % 2 == 0 ? K{0} : static_cast<K>(~K{0}); break;
      case kind::slope: keys[i] = std::max(any(), any()); break;
      case kind::almost_constant: keys[i] = any() % 97 == 0 ? any() : K{7}; break;
      // Eight groups of eight keys, where a sample looks, lie evenly; all others crowd.
      case kind::deceiving: keys[i] = i % (num_keys / 7 + 1) < 20 ? any() : static_cast<K>(any() % 5); break;
    }
  }
  if (what == kind::sorted) std::sort(keys.begin(), keys.end());
  if (what == kind::reverse) std::sort(keys.rbegin(), keys.rend());
  return keys;
}

template <class K>
std::vector<key_type> types_of() {
  if (sizeof(K) == 1) return {key_type::u8, key_type::i8};
  return {key_type::u16, key_type::i16, key_type::f16, key_type::bf16};
}

template <class K>
constexpr K red_zone = static_cast<K>(0xBEEF);

/// test(codec, keys) sorts the keys and leaves the red zone of 64 keys behind them.
template <class K, class Test>
void for_all_inputs(const std::vector<std::uint64_t>& sizes, const Test& test) {
  std::mt19937_64 random(test::base_seed());
  for (const key_type type : types_of<K>()) {
    for (const bool descending : {false, true}) {
      const auto codec = keys::key_codec{.type = type, .descending = descending}.template of<K>();
      for (const std::uint64_t num_keys : sizes) {
        for (const kind what : all_kinds) {
          SCOPED_TRACE(std::to_string(static_cast<int>(type)) + (descending ? " descending " : " ascending ") +
                       std::to_string(num_keys) + " keys of kind " + std::to_string(static_cast<int>(what)));
          std::vector<K> keys = make_keys<K>(what, num_keys, random);
          std::vector<K> expected = keys;
          std::sort(expected.begin(), expected.end(), [&](K l, K r) { return codec.encode(l) < codec.encode(r); });
          expected.resize(num_keys + 64, red_zone<K>);
          keys.resize(num_keys + 64, red_zone<K>);
          test(codec, keys.data(), num_keys);
          EXPECT_TRUE(keys == expected);
          if (testing::Test::HasFailure()) return;
        }
      }
    }
  }
}

class narrow_vector_sort : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_vector_sort()) GTEST_SKIP() << "vectors of this machine are too narrow";
  }
};

std::vector<std::uint64_t> sizes_of_networks() {
  std::vector<std::uint64_t> sizes = {511, 512};
  if (find_network_sort<std::uint16_t>(true).most_keys > 512) sizes.insert(sizes.end(), {513, 800, 1023, 1024});
  for (std::uint64_t n = 1; n < 510; n += n < 70 ? 1 : 7) sizes.push_back(n);
  return sizes;
}

template <class K>
void test_networks() {
  for_all_inputs<K>(sizes_of_networks(), [](const auto& codec, K* keys, std::uint64_t num_keys) {
    const network_sort network = find_network_sort<K>(codec.is_identity());
    ASSERT_GE(network.most_keys, num_keys);
    network.sort(&codec, keys, num_keys);
  });
}

TEST_F(narrow_vector_sort, NetworksOfEightBits) { test_networks<std::uint8_t>(); }
TEST_F(narrow_vector_sort, NetworksOfSixteenBits) { test_networks<std::uint16_t>(); }

TEST_F(narrow_vector_sort, SixteenBits) {
  const std::vector<std::uint64_t> sizes{3,    100,  513,  600,  1023, 1024,   1025,
                                         1500, 2047, 2048, 2049, 5000, 16'384, 100'003};
  for_all_inputs<std::uint16_t>(sizes, [](const auto& codec, std::uint16_t* keys, std::uint64_t num_keys) {
    const std::uint64_t room = num_keys + narrow_sort_slack_keys;
    std::vector<std::uint16_t> first(room + 64, red_zone<std::uint16_t>);
    std::vector<std::uint16_t> second = first;
    narrow_sort(codec, keys, num_keys, first.data(), second.data());
    for (const std::vector<std::uint16_t>& array : {first, second}) {
      EXPECT_EQ(std::count(array.begin() + static_cast<std::ptrdiff_t>(room), array.end(), red_zone<std::uint16_t>), 64)
          << "writes beyond its scratch";
    }
  });
}

TEST_F(narrow_vector_sort, SelectsTheKeysOfARange) {
  constexpr std::uint16_t greatest = 0xFFFF;
  const std::vector<narrow_range> ranges{{0, greatest},    {0, 0},           {greatest, greatest}, {0, 0x7FFF},
                                         {0x8000, 0xFFFE}, {0x1234, 0x9ABC}, {1, greatest},        {0x7C00, 0x7C01}};
  std::mt19937_64 random(test::base_seed());
  std::uint64_t num_short = 0;
  for (const key_type type : types_of<std::uint16_t>()) {
    for (const bool descending : {false, true}) {
      const auto codec = keys::key_codec{.type = type, .descending = descending}.of<std::uint16_t>();
      for (const std::uint64_t num_keys : {1U, 7U, 31U, 32U, 33U, 64U, 1000U, 5003U}) {
        for (const kind what : {kind::uniform, kind::crowded, kind::zero_one}) {
          const std::vector<std::uint16_t> keys = make_keys<std::uint16_t>(what, num_keys, random);
          for (const narrow_range range : ranges) {
            std::vector<std::uint16_t> expected;
            for (const std::uint16_t key : keys) {
              const std::uint16_t encoded = codec.encode(key);
              if (encoded >= range.least && encoded <= range.greatest) expected.push_back(key);
            }
            // Room for all of them, and for half.
            for (const std::uint64_t room : {expected.size(), expected.size() / 2}) {
              const std::uint64_t written = room + narrow_sort_slack_keys;
              std::vector<std::uint16_t> to(written + 64, red_zone<std::uint16_t>);
              const std::uint64_t count = narrow_select(codec, keys.data(), num_keys, range, to.data(), room);
              ASSERT_EQ(
                  std::count(to.begin() + static_cast<std::ptrdiff_t>(written), to.end(), red_zone<std::uint16_t>), 64)
                  << "writes beyond its room";
              if (room < expected.size()) {
                ++num_short;
                ASSERT_GT(count, room);
                continue;
              }
              to.resize(count);
              ASSERT_TRUE(to == expected) << num_keys << " keys from " << range.least << " to " << range.greatest;
            }
          }
        }
      }
    }
  }
  EXPECT_GT(num_short, 100U);
}

}  // namespace
}  // namespace spansort::device::host
