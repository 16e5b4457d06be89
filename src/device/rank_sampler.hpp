// SPDX-License-Identifier: Apache-2.0
// Samples of keys that are taken, sorted and looked into where the keys are: what queues may offer besides device.hpp.
// The host gets a few keys around each rank, not the sample. Definitions are for host and device code: whoever takes a
// sample takes the same.
#pragma once

#include <cstdint>
#include <vector>

#include "keys/codec.hpp"

namespace spansort::device {

/// Neighbours that a sample takes together: a line of memory, whose other keys cost nothing more.
inline constexpr std::uint64_t sample_run_bytes = 64;

/// A number that looks random (SplitMix64's mixing).
[[nodiscard]] constexpr std::uint64_t mixed(std::uint64_t x) noexcept {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

/// Returns where run `i` begins. There is one run in each of equal parts of the keys, at a different position in each,
/// so that no period of the data's is met.
[[nodiscard]] constexpr std::uint64_t sample_run_begin(std::uint64_t i, std::uint64_t part_keys,
                                                       std::uint64_t run_keys) noexcept {
  return i * part_keys + mixed(i) % (part_keys - run_keys + 1);
}

/// Returns by how many positions of the sample an order rank may be off: 3.5 standard deviations, so that one order
/// rank in 2,000 is missed, which costs two reads more. `sum_of_squares` sums the squared differences between each
/// run's number of keys below the wanted key and its left neighbour's. So runs of like keys are worth less than they
/// count, and of sorted data nearly nothing is uncertain.
[[nodiscard]] constexpr std::uint64_t sample_reach(std::uint64_t run_keys, std::uint64_t sum_of_squares) noexcept {
  // 3.5 * sqrt(sum / 2), in integers: all devices come to the same.
  const std::uint64_t square = sum_of_squares * 49 / 8;
  std::uint64_t root = 0;
  for (std::uint64_t bit = std::uint64_t{1} << 31; bit != 0; bit /= 2) {
    if ((root + bit) * (root + bit) <= square) root += bit;
  }
  return 2 * run_keys + root;
}

/// An order rank's position in a sorted sample, and encoded keys of the sample on both sides.
struct rank_bracket {
  std::uint64_t place = 0;
  std::uint64_t reach = 0;      ///< the rank lies between `place - reach` and `place + reach`
  std::uint64_t far_below = 0;  ///< the key at place - reach - margin
  std::uint64_t low = 0;        ///< at place - reach; both are undefined where the sample ends before
  std::uint64_t high = 0;       ///< at place + reach
  std::uint64_t far_above = 0;  ///< at place + reach + margin; likewise

  [[nodiscard]] constexpr std::uint64_t margin() const noexcept { return reach / 4; }
  [[nodiscard]] constexpr bool has_low() const noexcept { return place > reach + margin(); }
  [[nodiscard]] constexpr bool has_high(std::uint64_t num_sampled) const noexcept {
    return place + reach + margin() + 1 < num_sampled;
  }
  friend constexpr bool operator==(const rank_bracket&, const rank_bracket&) = default;
};

struct bracket_request {
  keys::key_codec codec;  ///< bijective
  const void* keys = nullptr;
  std::uint64_t num_keys = 0;
  std::uint64_t num_runs = 0;         ///< runs of sample_run_bytes, at most most_sampled_keys in all; parts hold a run
  std::vector<std::uint64_t> places;  ///< in the sorted sample, at most 8
  rank_bracket* brackets = nullptr;   ///< host memory: one for each place; overwritten
};

/// The interface of queues that can: dynamic_cast finds it. Requests are in order with the queue's others, and their
/// results there after synchronize().
class rank_sampler {
 public:
  static constexpr std::uint64_t most_sampled_keys = std::uint64_t{1} << 19;
  static constexpr std::size_t most_places = 8;

  virtual ~rank_sampler() = default;
  virtual void bracket_ranks(const bracket_request& request) = 0;
};

}  // namespace spansort::device
