// SPDX-License-Identifier: Apache-2.0
#include "device/host/shared_sort.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <new>

#include "base/assert.hpp"
#include "device/host/many_values.hpp"
#include "device/host/misplaced_keys.hpp"
#include "device/host/narrow_counts.hpp"
#include "device/host/ordered_runs.hpp"
#include "device/host/parked_threads.hpp"
#include "device/host/shared_counts.hpp"
#include "device/host/shared_few.hpp"
#include "device/host/shared_heavy.hpp"
#include "device/host/shared_looks.hpp"
#include "device/host/shared_narrow.hpp"
#include "device/host/shared_pairs.hpp"
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

/// Sorts keys of values that repeat often. Returns false, with nothing written, where they are others.
template <class K>
bool sort_repeated_shared(shared_space& space, const keys::codec_of<K>& codec, K* keys, std::uint64_t num_keys) {
  // Heavy values come before narrow keys: a counter that is added to many times in a row waits for itself.
  return sort_heavy_values_shared(space, codec, keys, num_keys) || sort_narrow_shared(space, codec, keys, num_keys) ||
         sort_many_values_shared(space, codec, keys, num_keys);
}

/// The parts of an array that all threads share.
struct in_shared_parts {
  const shared_space& space;
  std::uint64_t num_parts;

  [[nodiscard]] std::uint64_t size() const noexcept { return num_parts; }
  template <class Work>
  void operator()(std::uint64_t count, const Work& work) const {
    std::atomic<std::uint64_t> next{0};
    space.run([&](unsigned) {
      for (std::uint64_t p = next.fetch_add(1); p < count; p = next.fetch_add(1)) work(p);
    });
  }
};

/// Sorts keys in order but for a few. Returns false, with nothing done, where there are others.
template <class K>
bool sort_nearly_ordered_shared(shared_space& space, const keys::codec_of<K>& codec, K* keys, std::uint64_t num_keys) {
  if (!may_be_nearly_ordered(codec, keys, num_keys)) return false;
  const std::uint64_t num_parts = num_misplaced_parts(num_keys, space.num_threads());
  misplaced_sorter<K, no_value, in_shared_parts> sorter(codec, keys, num_keys, {space, num_parts});
  if (!sorter.find()) return false;
  sorter.sort_records({keys, nullptr}, [&](const auto& misplaced, const auto&, std::uint64_t count) {
    K* const first = misplaced.keys;
    const vector_sort_scratch<K> scratch = space.scratch_of<K>(0);
    if (count <= scratch.num_keys) return vector_sort(codec, first, first, count, scratch);
    shared_sorter<K>(codec, space, count).sort(first, count);
  });
  return true;
}

/// Sorts keys of which settle_with() says that they are others. Throws std::bad_alloc with the keys untouched.
template <class K>
void sort_others_with(shared_space& space, const keys::codec_of<K>& codec, K* keys, std::uint64_t num_keys) {
  if (sort_repeated_shared(space, codec, keys, num_keys)) return;
  shared_sorter<K>(codec, space, num_keys).sort(keys, num_keys);
}

/// Merges a few runs, or a long one and what is appended to it. Returns false, with nothing written, where there are
/// others, or no memory.
template <class K>
bool merge_runs_shared(shared_space& space, const keys::codec_of<K>& codec, K* keys, std::uint64_t num_keys) {
  return merge_shared_runs<K>(codec, keys, num_keys, space.num_threads(),
                              [&](K* tail, std::uint64_t num_tail) { sort_others_with(space, codec, tail, num_tail); });
}

/// Sorts keys of a few values. Returns false, with nothing written, where a sample meets others.
template <class K>
bool sort_few_values_shared(shared_space& space, const keys::codec_of<K>& codec, K* keys, std::uint64_t num_keys) {
  const few_values<K> few = sample_few_values(bijective_order<K>(codec), keys, num_keys);
  if (few.count == 0) return false;
  if (shared_few_sorter<K>(space, few, keys, num_keys).sort()) return true;
  // The keys have been moved: nothing may fail any more.
  if constexpr (sizeof(K) >= 4) {
    try {
      sort_others_with(space, codec, keys, num_keys);
    } catch (const std::bad_alloc&) {
      shared_sorter<K>(codec, space, num_keys).sort(keys, num_keys);
    }
  } else {
    sort_by_counters(space, codec, keys, num_keys);
  }
  return true;
}

/// Sorts keys that are in order, but for a tail or a few keys anywhere, or of a few runs or a few values. Returns
/// false, with nothing written, where they are others.
template <class K>
bool settle_with(shared_space& space, const keys::codec_of<K>& codec, K* keys, std::uint64_t num_keys) {
  if (finish_ordered_shared(space, codec, keys, num_keys)) return true;
  if constexpr (sizeof(K) >= 4) {
    if (merge_runs_shared(space, codec, keys, num_keys)) return true;
    if (sort_nearly_ordered_shared(space, codec, keys, num_keys)) return true;
  }
  if constexpr (sizeof(K) >= 2) return sort_few_values_shared(space, codec, keys, num_keys);
  return false;
}

/// Returns whether keys may be two runs that many threads merge in less time than they sort them: whether sampled ones
/// fall once. On 4 to 16 threads of an Emerald Rapids 2^16 u64 took 126 to 165 us sorted and 78 to 107 merged, 2^17 u32
/// 172 to 232 and 80 to 136, 2^16 u32 75 to 100 and 61 to 106. 2^15 u64 took longer merged; floats of 2^15 to 2^17 keys
/// as long, or longer.
template <class K>
bool may_be_two_runs(const keys::codec_of<K>& codec, const K* keys, std::uint64_t num_keys, unsigned num_threads) {
  constexpr std::uint64_t fewest_keys = std::uint64_t{3} << 14;
  constexpr std::uint64_t num_samples = 64;
  if (num_threads < fewest_threads_not_to_merge || num_keys < fewest_keys || codec.to_negative != 0) return false;
  const std::uint64_t stride = num_keys / num_samples;
  unsigned falls = 0;
  for (std::uint64_t s = 1; s < num_samples && falls < 2; ++s) {
    falls += codec.encode(keys[stride * s]) < codec.encode(keys[stride * (s - 1)]) ? 1U : 0U;
  }
  return falls == 1;
}

/// This is what a few hundred keys from all over the input tell about its order.
struct sampled_order {
  bool rises_or_falls = false;  ///< mostly, from one of them to the next
  bool has_stretches = false;   ///< every other one equals its neighbour
};

template <class K>
sampled_order sample_order(const keys::codec_of<K>& codec, const K* keys, std::uint64_t num_keys) {
  constexpr std::uint64_t num_samples = 256;
  constexpr int most_more = num_samples / 4;
  const std::uint64_t stride = ((num_keys - 1) / num_samples - 1) | 1;  // odd, off the beat of stretches
  int num_rises = 0;
  int num_falls = 0;
  unsigned num_alike = 0;
  K last = codec.encode(keys[0]);
  for (std::uint64_t s = 1; s <= num_samples; ++s) {
    const K key = codec.encode(keys[s * stride]);
    num_rises += key > last ? 1 : 0;
    num_falls += key < last ? 1 : 0;
    num_alike += keys[s * stride] == keys[s * stride - 1] ? 1 : 0;
    last = key;
  }
  return {std::abs(num_rises - num_falls) > most_more, num_alike > num_samples / 2};
}

template <class K>
void sort_with(shared_space& space, const keys::codec_of<K>& codec, K* keys, std::uint64_t num_keys) {
  if (settle_with(space, codec, keys, num_keys)) return;
  if constexpr (sizeof(K) == 2) {
    if (shared_narrow_sorter::is_worth_it(space, num_keys) && shared_narrow_sorter(space, codec).sort(keys, num_keys)) {
      return;
    }
  }
  if constexpr (sizeof(K) >= 4) {
    sort_others_with(space, codec, keys, num_keys);
  } else {
    sort_by_counters(space, codec, keys, num_keys);
  }
}

/// Returns sort(space, codec, keys) for the width of the keys.
template <class Sort>
auto call_with(shared_space& space, const keys::key_codec& codec, void* keys, const Sort& sort) {
  return keys::with_width(codec.width_bytes(),
                          [&]<class K>() { return sort(space, codec.of<K>(), static_cast<K*>(keys)); });
}

/// Does so with the space that the process keeps. Returns false, with nothing done, while another thread uses it, or
/// where there is no memory for it.
template <class Sort>
bool with_kept_space(const keys::key_codec& codec, void* keys, unsigned num_threads, const Sort& sort) {
  kept_space& shared = process_wide();
  const std::unique_lock lock(shared.in_use, std::try_to_lock);
  if (!lock.owns_lock()) return false;
  try {
    shared.kept.prepare(std::min(num_threads, most_shared_threads));
  } catch (const std::bad_alloc&) {
    return false;
  }
  return call_with(shared.kept, codec, keys, sort);
}

}  // namespace

bool has_shared_sort(std::uint64_t key_bytes) { return key_bytes < 4 || has_vector_sort(); }

std::uint64_t shared_sort_bytes(unsigned num_threads) {
  return shared_space::size_bytes(std::min(num_threads, most_shared_threads));
}

void release_shared_sort() noexcept {
  kept_space& shared = process_wide();
  const std::unique_lock lock(shared.in_use, std::try_to_lock);
  if (lock.owns_lock()) shared.kept.release();
}

void sort_shared(const keys::key_codec& codec, void* keys, std::uint64_t num_keys, unsigned num_threads) {
  const auto sort = [&]<class K>(shared_space& space, const keys::codec_of<K>& of_width, K* first) {
    sort_with(space, of_width, first, num_keys);
    return true;
  };
  if (with_kept_space(codec, keys, num_threads, sort)) return;
  shared_space own;
  own.prepare(1);
  static_cast<void>(call_with(own, codec, keys, sort));
}

bool sort_others_shared(const keys::key_codec& codec, void* keys, std::uint64_t num_keys, unsigned num_threads,
                        bool may_repeat) {
  SPANSORT_ASSERT(codec.width_bytes() >= 2);
  return with_kept_space(codec, keys, num_threads,
                         [&]<class K>(shared_space& space, const keys::codec_of<K>& of_width, K* first) {
                           if constexpr (sizeof(K) >= 4) {
                             if (may_be_two_runs(of_width, first, num_keys, num_threads) &&
                                 merge_runs_shared(space, of_width, first, num_keys)) {
                               return true;
                             }
                             if (may_repeat && sort_repeated_shared(space, of_width, first, num_keys)) return true;
                             shared_sorter<K>(of_width, space, num_keys).sort(first, num_keys);
                           } else if constexpr (sizeof(K) == 2) {
                             return shared_narrow_sorter(space, of_width).sort(first, num_keys);
                           }
                           return true;
                         });
}

bool sort_in_place_shared(const keys::key_codec& codec, void* keys, std::uint64_t num_keys, unsigned num_threads) {
  SPANSORT_ASSERT(codec.width_bytes() >= 4);
  return with_kept_space(codec, keys, num_threads,
                         [&]<class K>(shared_space& space, const keys::codec_of<K>& of_width, K* first) {
                           if constexpr (sizeof(K) >= 4) {
                             if (finish_ordered_shared(space, of_width, first, num_keys)) return true;
                             const unsigned most = most_runs_to_merge<K, no_value>(of_width, num_keys, num_threads);
                             // A device merges runs, and what is appended to one.
                             const ordered_runs runs = find_runs(as_one_piece{}, of_width, first, num_keys, most);
                             if (runs.are_few() || is_worth_a_merge(num_keys - runs.first_end, num_keys)) return false;
                             if (sort_nearly_ordered_shared(space, of_width, first, num_keys)) return true;
                             if (sort_few_values_shared(space, of_width, first, num_keys)) return true;
                             sort_others_with(space, of_width, first, num_keys);
                           }
                           return true;
                         });
}

bool settle_repeats_shared(const keys::key_codec& codec, void* keys, std::uint64_t num_keys, unsigned num_threads) {
  SPANSORT_ASSERT(codec.width_bytes() >= 4);
  return with_kept_space(codec, keys, num_threads,
                         [&]<class K>(shared_space& space, const keys::codec_of<K>& of_width, K* first) {
                           if constexpr (sizeof(K) >= 4) {
                             if (look_at_first(of_width, first, num_keys).ascending) return false;
                             // A device merges runs, and sorts around what is misplaced. Stretches of one value
                             // have counters wait for themselves: they took ten times as long.
                             const sampled_order order = sample_order(of_width, first, num_keys);
                             if (order.rises_or_falls) return false;
                             return sort_few_values_shared(space, of_width, first, num_keys) ||
                                    sort_heavy_values_shared(space, of_width, first, num_keys) ||
                                    (!order.has_stretches && sort_narrow_shared(space, of_width, first, num_keys));
                           }
                           return false;
                         });
}

bool settle_shared(const keys::key_codec& codec, void* keys, std::uint64_t num_keys, unsigned num_threads) {
  return with_kept_space(codec, keys, num_threads,
                         [&]<class K>(shared_space& space, const keys::codec_of<K>& of_width, K* first) {
                           if (settle_with(space, of_width, first, num_keys)) return true;
                           if constexpr (sizeof(K) >= 4) return sort_repeated_shared(space, of_width, first, num_keys);
                           return false;
                         });
}

}  // namespace spansort::device::host
