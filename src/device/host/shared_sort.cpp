// SPDX-License-Identifier: Apache-2.0
#include "device/host/shared_sort.hpp"

#include <algorithm>
#include <mutex>

#include "device/host/many_values.hpp"
#include "device/host/narrow_counts.hpp"
#include "device/host/parked_threads.hpp"
#include "device/host/shared_counts.hpp"
#include "device/host/shared_heavy.hpp"
#include "device/host/shared_looks.hpp"
#include "device/host/shared_parts.hpp"
#include "device/host/shared_space.hpp"
#include "device/host/vector_sort.hpp"
#include "keys/dispatch.hpp"

namespace spansort::device::host {
namespace {

/// One space with helpers is kept for whoever comes first; others sort alone, in their own memory.
struct kept_space {
  std::mutex in_use;
  parked_threads helpers;
  shared_space kept{&helpers};
};

/// Lives as long as the helpers do.
kept_space& process_wide() {
  static auto* const one = new kept_space;
  return *one;
}

template <class K>
void sort_with(shared_space& space, const keys::key_codec& codec, K* keys, std::uint64_t num_keys,
               unsigned num_threads) {
  space.prepare(num_threads);
  const keys::codec_of<K> of_width = codec.of<K>();
  if (finish_ordered_shared(space, of_width, keys, num_keys)) return;
  if constexpr (sizeof(K) >= 2) {
    if (sort_few_values_shared(space, of_width, keys, num_keys)) return;
  }
  if constexpr (sizeof(K) >= 4) {
    // Heavy values come before narrow keys: a counter that is added to many times in a row waits for itself.
    if (sort_heavy_values_shared(space, of_width, keys, num_keys)) return;
    if (sort_narrow_shared(space, of_width, keys, num_keys)) return;
    if (sort_many_values_shared(space, of_width, keys, num_keys)) return;
    shared_sorter<K>(of_width, space, num_keys).sort(keys, num_keys);
  } else {
    sort_by_counters(space, of_width, keys, num_keys);
  }
}

}  // namespace

bool has_shared_sort(std::uint64_t key_bytes) { return key_bytes < 4 || has_vector_sort(); }

std::uint64_t shared_sort_bytes(unsigned num_threads) { return shared_space::size_bytes(num_threads); }

void sort_shared(const keys::key_codec& codec, void* keys, std::uint64_t num_keys, unsigned num_threads) {
  kept_space& shared = process_wide();
  const std::unique_lock lock(shared.in_use, std::try_to_lock);
  shared_space own;
  shared_space& space = lock.owns_lock() ? shared.kept : own;
  const unsigned threads = lock.owns_lock() ? std::min(num_threads, most_shared_threads) : 1;
  keys::with_width(codec.width_bytes(),
                   [&]<class K>() { sort_with(space, codec, static_cast<K*>(keys), num_keys, threads); });
}

}  // namespace spansort::device::host
