// SPDX-License-Identifier: Apache-2.0
#include "bench/suites/verify.hpp"

#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/parallel_reduce.h>

#include <functional>
#include <spansort/check.hpp>

#include "bench/suites/key_cases.hpp"

namespace bench {
namespace {

using range = tbb::blocked_range<std::uint64_t>;

constexpr std::uint64_t grain = std::uint64_t{1} << 16;

/// Calls bad(i) for neighbours i - 1 and i of the same array. Returns whether it was false for all.
template <class Bad>
bool holds_for_neighbours(const sorted_arrays& of, const Bad& bad) {
  const std::uint64_t mask = of.num_keys - 1;
  const bool is_power = (of.num_keys & mask) == 0;
  return tbb::parallel_reduce(
      range(1, of.num_keys * of.num_arrays, grain), true,
      [&](const range& part, bool good) {
        for (std::uint64_t i = part.begin(); i != part.end(); ++i) {
          const bool is_first = is_power ? (i & mask) == 0 : i % of.num_keys == 0;
          if (!is_first && bad(i)) return false;
        }
        return good;
      },
      std::logical_and<>());
}

template <class K>
bool keys_are_in_order(const sorted_arrays& of) {
  const K* const keys = static_cast<const K*>(of.keys);
  return holds_for_neighbours(of, [keys](std::uint64_t i) { return !(keys[i - 1] <= keys[i]); });
}

template <class K, class V>
bool ties_are_in_order(const sorted_arrays& of) {
  const K* const keys = static_cast<const K*>(of.keys);
  const V* const values = static_cast<const V*>(of.values);
  return holds_for_neighbours(of,
                              [=](std::uint64_t i) { return keys[i - 1] == keys[i] && values[i - 1] >= values[i]; });
}

}  // namespace

bool are_in_order(const sorted_arrays& of, bool stable) {
  if (of.num_keys * of.num_arrays < 2) return true;
  if (of.num_arrays == 1 || of.type == spansort::key_type::f16) {
    // The checker of the library knows every type, and needs some microseconds an array.
    for (std::uint64_t array = 0; array < of.num_arrays; ++array) {
      const char* const keys = static_cast<const char*>(of.keys) + array * of.num_keys * spansort::size_bytes(of.type);
      if (spansort::check({of.type, keys, of.num_keys}).first_disorder) return false;
    }
  } else if (!with_key(of.type, [&]<class K>() { return keys_are_in_order<K>(of); })) {
    return false;
  }
  return !stable || with_key(of.type, [&]<class K>() {
    return of.value_bytes == 4 ? ties_are_in_order<K, std::uint32_t>(of) : ties_are_in_order<K, std::uint64_t>(of);
  });
}

std::vector<std::uint64_t> key_sums(const sorted_arrays& of) {
  std::vector<std::uint64_t> sums(of.num_arrays);
  with_key_bits(spansort::size_bytes(of.type), [&]<class W>() {
    const W* const keys = static_cast<const W*>(of.keys);
    for (std::uint64_t i = 0; i < of.num_keys * of.num_arrays; ++i) {
      std::uint64_t mixed = (keys[i] + std::uint64_t{1}) * 0x9E3779B97F4A7C15U;
      mixed = (mixed ^ (mixed >> 32)) * 0xD6E8FEB86659FD93U;
      sums[i / of.num_keys] += mixed ^ (mixed >> 29);
    }
  });
  return sums;
}

bool take_keys(const void* from, const std::uint64_t* indices, void* to, std::uint64_t key_bytes,
               std::uint64_t num_keys, std::uint64_t num_arrays) {
  return with_key_bits(key_bytes, [&]<class K>() {
    const auto take = [&](const range& part, bool good) {
      for (std::uint64_t i = part.begin(); i != part.end(); ++i) {
        if (indices[i] >= num_keys) return false;
        const std::uint64_t first = num_arrays == 1 ? 0 : i / num_keys * num_keys;
        static_cast<K*>(to)[i] = static_cast<const K*>(from)[first + indices[i]];
      }
      return good;
    };
    return tbb::parallel_reduce(range(0, num_keys * num_arrays, grain), true, take, std::logical_and<>());
  });
}

}  // namespace bench
