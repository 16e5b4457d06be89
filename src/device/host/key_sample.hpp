// SPDX-License-Identifier: Apache-2.0
// A sample of a small array tells which values it repeats: all of them where they are few, and those that hold much of
// it.
#pragma once

#include <cstdint>
#include <cstring>

#include "device/host/count_few.hpp"

namespace spansort::device::host {

/// Some keys from all over the input.
template <class K>
class key_sample {
 public:
  /// `count` is at least heavy_sample_keys.
  key_sample(const K* from, std::uint64_t count) {
    constexpr std::uint64_t together = 8;
    constexpr std::uint64_t groups = heavy_sample_keys / together;
    for (std::uint64_t g = 0; g < groups; ++g) {
      std::memcpy(keys_ + g * together, from + g * (count - together) / (groups - 1), together * sizeof(K));
    }
  }

  /// Moves the distinct keys, and the heavy ones where they are wanted, to `found`. Returns false where they are too
  /// many, or where more than `most_single` are met once: for each of them another one has probably been missed.
  bool take_values(unsigned most_single, bool wants_heavy, few_counts<K>& found) {
    constexpr unsigned fewest_heavy = 3;
    constexpr unsigned enough = heavy_sample_keys * 7 / 8;
    unsigned left = heavy_sample_keys;
    unsigned num_single = 0;
    unsigned alike_of[most_heavy_values] = {};
    while (left >= fewest_heavy || (left != 0 && num_single <= most_single)) {
      if (found.count == most_few_values ||
          (num_single > most_single && (!wants_heavy || found.num_heavy_samples >= enough)))
        return false;
      const K value = keys_[0];
      unsigned others = 0;
      for (unsigned i = 0; i < left; ++i) {
        const K key = keys_[i];
        keys_[others] = key;
        others += key != value ? 1 : 0;
      }
      const unsigned alike = left - others;
      num_single += alike == 1 ? 1 : 0;
      if (wants_heavy && alike >= fewest_heavy && found.num_heavy < most_heavy_values) {
        unsigned at = found.num_heavy++;
        for (; at != 0 && alike_of[at - 1] < alike; --at) {
          alike_of[at] = alike_of[at - 1];
          found.heavy[at] = found.heavy[at - 1];
        }
        alike_of[at] = alike;
        found.heavy[at] = value;
        found.num_heavy_samples += alike;
      }
      found.keys[found.count++] = value;
      left = others;
    }
    return num_single <= most_single;
  }

 private:
  K keys_[heavy_sample_keys];
};

}  // namespace spansort::device::host
