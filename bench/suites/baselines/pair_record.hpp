// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace bench {

/// A record of a pair benchmark, as the peers sort it. Spansort sorts the same pairs in two arrays.
template <class K, class V>
struct pair_record {
  K key;
  V value;
  friend bool operator<(const pair_record& a, const pair_record& b) { return a.key < b.key; }
};

}  // namespace bench
