// SPDX-License-Identifier: Apache-2.0
// Keys in opposite order, which one GPU turns while it looks for order, and keys that a sample finds so but are not:
// the sort has changed their places by then, and has to sort them all the same.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "gpu/gpu_test.hpp"
#include "spansort/enqueue.hpp"
#include "support/shard_memory.hpp"

namespace spansort::test {
namespace {

constexpr std::uint64_t num_many = (std::uint64_t{1} << 21) + 64;  // enough for a look, and of whole pairs of vectors

class turned_keys_test : public gpu_test {
 protected:
  /// `first`: position of the keys in their memory, which is aligned.
  template <class T>
  static void expect_sorted(std::vector<T> keys, key_type type, std::uint64_t first = 0) {
    const std::uint64_t n = keys.size();
    shard_memory memory("gpu:0", (first + n) * sizeof(T));
    std::vector<T> held(first);
    held.insert(held.end(), keys.begin(), keys.end());
    memory.write(std::as_bytes(std::span(held)));
    const std::uint64_t size = enqueue_sort_bytes(type, n);
    shard_memory workspace("gpu:0", size);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    enqueue_sort({type, static_cast<T*>(memory.data()) + first, n}, {workspace.data(), size}, nullptr);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    const std::vector<std::byte> bytes = memory.read((first + n) * sizeof(T));
    std::vector<T> sorted(n);
    std::memcpy(sorted.data(), bytes.data() + first * sizeof(T), n * sizeof(T));
    std::ranges::sort(keys);
    ASSERT_TRUE(sorted == keys) << n << " keys, the first at " << first;
  }

  /// Keys n - 1 down to 0, each `copies` times.
  template <class T>
  static std::vector<T> descending_keys(std::uint64_t n, std::uint64_t copies = 1) {
    std::vector<T> keys(n);
    for (std::uint64_t i = 0; i < n; ++i) keys[i] = static_cast<T>((n - 1 - i) / copies);
    return keys;
  }
};

TEST_F(turned_keys_test, KeysOfEveryWidth) {
  expect_sorted(descending_keys<std::uint32_t>(num_many), key_type::u32);
  expect_sorted(descending_keys<std::uint64_t>(num_many), key_type::u64);
  expect_sorted(descending_keys<std::int32_t>(num_many), key_type::i32);
  expect_sorted(descending_keys<float>(num_many), key_type::f32);
  expect_sorted(descending_keys<double>(num_many), key_type::f64);
  expect_sorted(descending_keys<std::uint16_t>(num_many, 64), key_type::u16);
  expect_sorted(descending_keys<std::uint8_t>(num_many, num_many / 250), key_type::u8);
}

TEST_F(turned_keys_test, ArraysThatAreNotOfWholePairsOfVectors) {
  for (const std::uint64_t more : {1, 4, 5, 8}) {
    for (const std::uint64_t first : {0, 1, 4}) {
      expect_sorted(descending_keys<std::uint32_t>(num_many + more), key_type::u32, first);
    }
  }
}

TEST_F(turned_keys_test, EqualKeysAndAllOfThem) {
  expect_sorted(descending_keys<std::uint32_t>(num_many, 7), key_type::u32);
  expect_sorted(descending_keys<std::uint64_t>(num_many, num_many / 2), key_type::u64);
  expect_sorted(std::vector<std::uint32_t>(num_many, 5), key_type::u32);
}

/// One pair of neighbours is out of order. It lies at ends, in the middle, and where the parts of threads, warps, tiles
/// and blocks may meet.
TEST_F(turned_keys_test, ASampleThatIsWrong) {
  const std::uint64_t half = num_many / 2;
  std::vector<std::uint64_t> places{0, 1, 2, half - 2, half - 1, half, num_many - 3, num_many - 2};
  for (const std::uint64_t step : {4, 128, 512, 4096}) {
    for (const std::uint64_t times : {1, 3, 7}) {
      for (const std::uint64_t at : {step * times, half + step * times, num_many - step * times}) {
        places.push_back(at - 1);
        places.push_back(at);
      }
    }
  }
  for (const std::uint64_t at : places) {
    SCOPED_TRACE("at " + std::to_string(at));
    std::vector<std::uint32_t> keys = descending_keys<std::uint32_t>(num_many);
    std::swap(keys[at], keys[at + 1]);
    expect_sorted(keys, key_type::u32);
    if (HasFatalFailure()) return;
  }
}

/// The parts of all blocks are of equal keys, and keys differ only from one part to another.
TEST_F(turned_keys_test, PartsOfEqualKeys) {
  constexpr std::uint64_t n = std::uint64_t{1} << 22;
  for (const std::uint64_t length : {4096, 8192, 32768}) {
    for (const std::uint64_t begin : {length, 2 * length, n / 2 - length, n - 2 * length}) {
      std::vector<std::uint32_t> keys(n, 5);
      std::fill(keys.begin() + static_cast<std::ptrdiff_t>(n / 2), keys.end(), 3U);
      std::fill_n(keys.begin() + static_cast<std::ptrdiff_t>(begin), length, 9U);
      expect_sorted(keys, key_type::u32);
      if (HasFatalFailure()) return;
    }
  }
}

/// Blocks whose keys all ascend, in an array that descends as a whole.
TEST_F(turned_keys_test, SeveralWrongPlaces) {
  for (const std::uint64_t length : {2, 100, 5000}) {
    std::vector<std::uint64_t> keys = descending_keys<std::uint64_t>(num_many * 4);
    for (std::uint64_t begin = 1000; begin + length < keys.size(); begin += 100'000) {
      std::reverse(keys.begin() + static_cast<std::ptrdiff_t>(begin),
                   keys.begin() + static_cast<std::ptrdiff_t>(begin + length));
    }
    expect_sorted(keys, key_type::u64);
  }
}

}  // namespace
}  // namespace spansort::test
