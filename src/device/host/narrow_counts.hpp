// SPDX-License-Identifier: Apache-2.0
// Keys of 8 and 16 bits are counted by their values instead of moved, on all threads: one read and one write of every
// key, in whatever order they come and however often they repeat.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>

#include "device/host/heavy_pairs.hpp"
#include "device/host/shared_looks.hpp"
#include "device/host/shared_space.hpp"
#include "keys/codec.hpp"

namespace spansort::device::host {

/// Most values that are compared with before keys are counted one by one.
inline constexpr unsigned most_compared_values = 4;

/// Adds keys to the counters of their bits; those of up to most_compared_values `heavy` ones, of which there is one,
/// by vectors. In memory a counter would be added to many times in a row, and each time wait for the last one.
void count_around_heavy(const std::uint16_t* keys, std::uint64_t num_keys, std::span<const std::uint16_t> heavy,
                        std::uint32_t* counters);

/// The counters of one thread: some tables, for neighbours that are equal would wait for each other in one.
template <class K>
struct narrow_counters {
  static constexpr std::uint64_t num_values = std::uint64_t{1} << (8 * sizeof(K));
  /// Two tables of 16 bits fill half of a second-level cache.
  static constexpr std::uint64_t num_tables = sizeof(K) == 1 ? 8 : 2;
  static constexpr std::uint64_t size = num_tables * num_values;

  std::uint32_t* of_bits = nullptr;  ///< as keys lie in memory; table by table

  void add(const K* __restrict keys, std::uint64_t num_keys) const {
    constexpr unsigned together = 8 / sizeof(K);
    std::uint32_t* const counters = of_bits;
    std::uint64_t i = 0;
    for (; i + together <= num_keys; i += together) {
      std::uint64_t word = 0;
      std::memcpy(&word, keys + i, sizeof(word));
      for (unsigned j = 0; j < together; ++j) {
        ++counters[j % num_tables * num_values + static_cast<K>(word >> (8 * sizeof(K) * j))];
      }
    }
    for (; i < num_keys; ++i) ++counters[keys[i]];
  }

  /// Adds all other tables to the first.
  void add_tables() const {
    for (std::uint64_t t = 1; t < num_tables; ++t) add_to_first(of_bits + t * num_values);
  }
  void add_to_first(const std::uint32_t* __restrict others) const {
    std::uint32_t* __restrict sums = of_bits;
    for (std::uint64_t v = 0; v < num_values; ++v) sums[v] += others[v];
  }
};

/// Writes `count` times a key, whole vectors where there is room: what comes behind is written later.
template <class K>
K* write_run(K* to, std::uint64_t count, const K* end, K key) {
  constexpr std::uint64_t lanes = 32 / sizeof(K);
  K vector[lanes];
  std::fill_n(vector, lanes, key);
  if (count <= lanes && static_cast<std::uint64_t>(end - to) >= lanes) {
    std::memcpy(to, vector, sizeof(vector));
  } else {
    std::fill_n(to, count, key);
  }
  return to + count;
}

/// The values that a sample meets most often, where they hold a fifth of it.
template <class K>
struct repeated_sample {
  std::array<K, most_compared_values> values = {};
  unsigned count = 0;

  repeated_sample(const K* keys, std::uint64_t num_keys) {
    constexpr std::uint64_t num_samples = 256;
    constexpr unsigned fewest = 6;
    if (num_keys < num_samples) return;
    std::array<K, num_samples> sample;
    const key_sampler<K> sampled(keys, num_keys, num_samples);
    for (std::size_t i = 0; i < num_samples; ++i) sample[i] = sampled(i);
    std::sort(sample.begin(), sample.end());
    struct run {
      K value;
      unsigned count;
    };
    std::array<run, most_compared_values> runs = {};
    for (auto it = sample.begin(); it != sample.end();) {
      const auto end = std::upper_bound(it, sample.end(), *it);
      run next{*it, static_cast<unsigned>(end - it)};
      for (run& r : runs) {
        if (next.count > r.count) std::swap(next, r);
      }
      it = end;
    }
    unsigned mass = 0;
    for (const run& r : runs) {
      if (r.count < fewest) break;
      values[count++] = r.value;
      mass += r.count;
    }
    if (5 * mass < num_samples) count = 0;
  }
  [[nodiscard]] std::span<const K> span() const noexcept { return {values.data(), count}; }
};

/// Sorts at least one and fewer than 2^32 keys of 8 or 16 bits in the memory of the space.
template <class K>
void sort_by_counters(const shared_space& space, const keys::codec_of<K>& codec, K* keys, std::uint64_t num_keys) {
  using counters = narrow_counters<K>;
  constexpr std::uint64_t num_values = counters::num_values;
  static_assert(counters::size * sizeof(std::uint32_t) + num_values * sizeof(K) <=
                vector_sort_spread * shared_space::part_bytes);
  static_assert(num_values * sizeof(std::uint32_t) <= shared_space::part_bytes);
  std::array<counters, most_shared_threads> of_thread;
  const repeated_sample<K> heavy(keys, num_keys);
  for_shared_pieces(space, num_keys, [&](std::uint64_t begin, std::uint64_t end, unsigned thread) {
    counters& own = of_thread[thread];
    if (own.of_bits == nullptr) {
      own.of_bits = reinterpret_cast<std::uint32_t*>(space.template scratch_of<K>(thread).second);
      std::fill_n(own.of_bits, counters::size, 0U);
    }
    if constexpr (sizeof(K) == 2) {
      if (heavy.count != 0) {
        count_around_heavy(keys + begin, end - begin, heavy.span(), own.of_bits);
        return true;
      }
    }
    own.add(keys + begin, end - begin);
    return true;
  });
  const counters* all = nullptr;
  for (const counters& own : of_thread) {
    if (own.of_bits == nullptr) continue;
    own.add_tables();
    if (all == nullptr) {
      all = &own;
    } else {
      all->add_to_first(own.of_bits);
    }
  }
  // The values that there are in key order, and where the keys of each end.
  const vector_sort_scratch<K> scratch = space.template scratch_of<K>(0);
  auto* const ends = reinterpret_cast<std::uint32_t*>(scratch.first);
  K* const values = scratch.second + counters::size * sizeof(std::uint32_t) / sizeof(K);
  std::uint32_t num_so_far = 0;
  std::uint64_t num_found = 0;
  for (std::uint64_t v = 0; v < num_values; ++v) {
    const K key = codec.decode(static_cast<K>(v));
    const std::uint32_t count = all->of_bits[key];
    values[num_found] = key;
    ends[num_found] = num_so_far += count;
    num_found += count != 0 ? 1 : 0;
  }
  for_shared_pieces(space, num_keys, [&](std::uint64_t begin, std::uint64_t end, unsigned) {
    auto v = static_cast<std::uint64_t>(std::upper_bound(ends, ends + num_found, begin) - ends);
    K* to = keys + begin;
    for (; begin < end; ++v) {
      const std::uint64_t stop = std::min<std::uint64_t>(end, ends[v]);
      to = write_run(to, stop - begin, keys + end, values[v]);
      begin = stop;
    }
    return true;
  });
}

}  // namespace spansort::device::host
