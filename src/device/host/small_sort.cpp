// SPDX-License-Identifier: Apache-2.0
#include "device/host/small_sort.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <memory>
#include <tuple>

#include "device/host/in_cache_sort.hpp"
#include "device/host/majority_key.hpp"
#include "device/host/many_values.hpp"
#include "device/host/misplaced_keys.hpp"
#include "device/host/narrow_sort.hpp"
#include "device/host/network_sort.hpp"
#include "device/host/ordered_keys.hpp"
#include "device/host/ordered_runs.hpp"
#include "device/host/ordered_tail.hpp"
#include "device/host/records.hpp"
#include "device/host/scratch.hpp"
#include "device/host/sort_limits.hpp"
#include "device/host/vector_sort.hpp"
#include "keys/dispatch.hpp"

namespace spansort::device::host {
namespace {

/// The memory that a thread keeps from call to call, until it ends.
class kept_scratch {
 public:
  /// Arrays for a vector_sort() of `keys`, which take more room for more keys only.
  template <class K>
  [[nodiscard]] vector_sort_scratch<K> arrays(const K* keys, std::uint64_t num_keys) {
    const std::uint64_t wanted = std::bit_ceil(std::max(num_keys, fewest_keys));
    if (wanted * sizeof(K) > room_bytes_) grow(wanted * sizeof(K));
    const std::uint64_t room = room_bytes_ / sizeof(K);
    std::byte* const data = arrays_.get();
    return {
        .first = reinterpret_cast<K*>(place_apart(data, keys, 1)),
        .second = reinterpret_cast<K*>(place_apart(data + room_bytes_ + padding_bytes, keys, 2)),
        .num_keys = room,
        .num_second_keys = room * vector_sort_spread,
        .cursors = reinterpret_cast<std::uint32_t*>(data + (1 + vector_sort_spread) * room_bytes_ + 2 * padding_bytes),
        .num_cursors = room_bytes_ / cursor_share};
  }

  /// Scratch of sorts by digits and of pairs.
  [[nodiscard]] worker_scratch& of_worker() {
    if (of_worker_ == nullptr) of_worker_ = std::make_unique<worker_scratch>();
    return *of_worker_;
  }

 private:
  static constexpr std::uint64_t fewest_keys = 4096;
  static constexpr std::uint64_t page_bytes = 4096;
  static constexpr std::uint64_t padding_bytes = page_bytes + 64;
  static constexpr std::uint64_t cursor_share = 64;  ///< bytes of keys for each cursor
  static_assert(most_small_bytes * (2 + vector_sort_spread) + worker_scratch::size_bytes +
                    kept_misplaced_room::size_bytes <=
                most_small_scratch_bytes);

  /// Returns the first line from `begin` on that lies `thirds` of a page behind where `keys` begin in theirs.
  /// Processors take loads and stores at the same place of two pages for dependent: 2^11 u32 on AVX2 took 40 % longer.
  static std::byte* place_apart(std::byte* begin, const void* keys, unsigned thirds) {
    const std::uint64_t wanted = reinterpret_cast<std::uintptr_t>(keys) + thirds * page_bytes / 3;
    return begin + (wanted - reinterpret_cast<std::uintptr_t>(begin)) % page_bytes / 64 * 64;
  }

  void grow(std::uint64_t room_bytes) {
    arrays_.reset();  // its contents are of no use
    room_bytes_ = 0;
    arrays_ = make_aligned<std::byte>((1 + vector_sort_spread) * room_bytes + 2 * padding_bytes +
                                      room_bytes / cursor_share * sizeof(std::uint32_t));
    room_bytes_ = room_bytes;
  }

  aligned_array<std::byte> arrays_;
  std::uint64_t room_bytes_ = 0;  ///< of keys
  std::unique_ptr<worker_scratch> of_worker_;
};

thread_local kept_scratch kept;

/// Sorts keys in order but for a short tail, and those of a few ascending runs unless it `leaves_runs` to others.
/// Returns false, with nothing done, where there are others.
template <class K>
bool sort_runs(const keys::codec_of<K>& codec, K* keys, std::uint64_t num_keys, bool leaves_runs,
               const vector_sort_scratch<K>& scratch) {
  if (!look_at_first(codec, keys, num_keys).ascending) return false;
  const std::uint64_t front = ordered_front(codec, keys, num_keys);
  const bijective_order<K> order(codec);
  if (front == 0) {
    return !leaves_runs && merge_runs_alone<K, no_value>(codec, {keys, nullptr}, {scratch.first, nullptr}, num_keys);
  }
  vector_sort(codec, keys + front, keys + front, num_keys - front, scratch);
  merge_tail<K, no_value>(order, {keys, nullptr}, front, num_keys, {scratch.first, nullptr});
  return true;
}

/// Sorts keys in order but for a few. Returns false, with nothing done, where there are others.
template <class K>
[[gnu::noinline]] bool sort_nearly_ordered(const keys::codec_of<K>& codec, K* keys, std::uint64_t num_keys,
                                           const vector_sort_scratch<K>& scratch) {
  misplaced_sorter<K, no_value, in_parts_alone> sorter(codec, keys, num_keys, {});
  if (!sorter.find()) return false;
  sorter.sort_records({keys, nullptr}, [&](const auto& misplaced, const auto&, std::uint64_t count) {
    vector_sort(codec, misplaced.keys, misplaced.keys, count, scratch);
  });
  return true;
}

/// Sorts keys that lie in order, but for a short tail or a few keys anywhere, and those of a few values; of a majority,
/// heavy or many values, and of a few runs, unless others will look for these. Returns false, with nothing written,
/// where they are others.
template <class K>
bool settle_in_vectors(const keys::codec_of<K>& codec, K* keys, std::uint64_t num_keys, left_to_others left,
                       const vector_sort_scratch<K>& scratch) {
  constexpr std::uint64_t worth_a_look = 256;  // the order of fewer costs about what their sort costs
  if (num_keys > worth_a_look &&
      (finish_ordered(codec, keys, num_keys) || sort_runs(codec, keys, num_keys, left.runs, scratch))) {
    return true;
  }
  if (may_be_nearly_ordered(codec, keys, num_keys) && sort_nearly_ordered(codec, keys, num_keys, scratch)) return true;
  const auto sort_first = [&](std::uint64_t count) { vector_sort(codec, keys, keys, count, scratch); };
  if (!left.repeated && sort_majority(codec, keys, num_keys, sort_first)) return true;
  if (num_keys < heavy_sample_keys) return false;
  few_counts<K> found;
  if (sort_few_values(codec, keys, num_keys, found)) return true;
  return !left.repeated &&
         (sort_heavy_values(codec, keys, num_keys, found, scratch) || sort_many_values(codec, keys, num_keys, scratch));
}

template <class K>
void sort_in_vectors(const keys::codec_of<K>& codec, K* keys, std::uint64_t num_keys) {
  const vector_sort_scratch<K> scratch = kept.arrays(keys, num_keys);
  if (!settle_in_vectors(codec, keys, num_keys, {}, scratch)) vector_sort(codec, keys, keys, num_keys, scratch);
}

/// Writes keys of 8 bits by their counts.
void sort_by_counts(const keys::codec_of<std::uint8_t>& codec, std::uint8_t* keys, std::uint64_t num_keys) {
  constexpr unsigned together = 8;
  std::uint32_t counts[together][256] = {};  // neighbours that are equal do not wait for each other
  std::uint64_t i = 0;
  for (; i + together <= num_keys; i += together) {
    std::uint64_t word = 0;
    std::memcpy(&word, keys + i, together);
    for (unsigned j = 0; j < together; ++j) ++counts[j][static_cast<std::uint8_t>(word >> 8 * j)];
  }
  for (; i < num_keys; ++i) ++counts[0][keys[i]];
  for (unsigned encoded = 0; encoded < 256; ++encoded) {
    const std::uint8_t key = codec.decode(static_cast<std::uint8_t>(encoded));
    std::uint64_t count = 0;
    for (const auto& of_lane : counts) count += of_lane[key];
    keys = std::fill_n(keys, count, key);
  }
}

/// Sorts keys in order, of a majority or of a few values. Returns false, with nothing written, where they are others.
bool settle_narrow(const keys::codec_of<std::uint16_t>& codec, std::uint16_t* keys, std::uint64_t num_keys,
                   const vector_sort_scratch<std::uint16_t>& scratch) {
  const auto sort_first = [&](std::uint64_t count) { narrow_sort(codec, keys, count, scratch.first, scratch.second); };
  return finish_ordered(codec, keys, num_keys) || sort_majority(codec, keys, num_keys, sort_first) ||
         sort_few_values(codec, keys, num_keys);
}

void sort_narrow(const keys::codec_of<std::uint16_t>& codec, std::uint16_t* keys, std::uint64_t num_keys) {
  const vector_sort_scratch<std::uint16_t> scratch = kept.arrays(keys, num_keys);
  if (!settle_narrow(codec, keys, num_keys, scratch)) {
    narrow_sort(codec, keys, num_keys, scratch.first, scratch.second);
  }
}

void sort_narrow(const keys::codec_of<std::uint8_t>& codec, std::uint8_t* keys, std::uint64_t num_keys) {
  if (finish_ordered(codec, keys, num_keys)) return;
  sort_by_counts(codec, keys, num_keys);
}

template <class K>
void sort_by_digits(const keys::codec_of<K>& codec, K* keys, std::uint64_t num_keys) {
  using order = bijective_order<K>;
  worker_scratch& scratch = kept.of_worker();
  if (finish_ordered(codec, keys, num_keys)) return;
  const split_records<K, no_value> records{keys, nullptr};
  in_cache_sorter<K, no_value, order>(order(codec), codec, scratch, false)
      .sort(records, records, num_keys, {0, sizeof(K) * 8});
}

/// The network sorts of all types and both directions. Codecs that were made long ago are read faster than new ones.
class network_sorts {
 public:
  struct sort_of_type {
    network_sort by_network;
    const void* codec = nullptr;
    std::uintptr_t misaligned_bits = 0;  ///< of an address
  };

  [[gnu::noinline]] network_sorts() {
    for (std::size_t i = 0; i < sorts_.size(); ++i) {
      const keys::key_codec codec{static_cast<key_type>(i / 2), i % 2 != 0, keys::tie_rule::by_bits};
      keys::with_width(codec.width_bytes(), [&]<class K>() {
        auto& of_width = std::get<keys::codec_of<K>>(codecs_[i]);
        of_width = codec.of<K>();
        sorts_[i] = {find_network_sort<K>(of_width.is_identity()), &of_width, sizeof(K) - 1};
      });
    }
  }
  network_sorts(const network_sorts&) = delete;
  network_sorts& operator=(const network_sorts&) = delete;

  [[nodiscard]] const sort_of_type& of(key_type type, direction d) const {
    return sorts_[2 * static_cast<std::size_t>(type) + (keys::is_descending(d) ? 1 : 0)];
  }

 private:
  static constexpr std::size_t num_types = static_cast<std::size_t>(key_type::f64) + 1;
  using codecs_of_widths = std::tuple<keys::codec_of<std::uint8_t>, keys::codec_of<std::uint16_t>,
                                      keys::codec_of<std::uint32_t>, keys::codec_of<std::uint64_t>>;
  std::array<sort_of_type, 2 * num_types> sorts_;
  std::array<codecs_of_widths, 2 * num_types> codecs_;
};

const network_sorts& all_network_sorts() {
  static const network_sorts sorts;
  return sorts;
}

}  // namespace

bool sort_smallest(key_type type, void* keys, std::uint64_t num_keys, direction d) {
  if (type > key_type::f64) return false;  // which is refused where arguments are checked
  const network_sorts::sort_of_type& chosen = all_network_sorts().of(type, d);
  if (num_keys < 2 || num_keys > chosen.by_network.most_keys || keys == nullptr ||
      (reinterpret_cast<std::uintptr_t>(keys) & chosen.misaligned_bits) != 0) {
    return false;
  }
  chosen.by_network.sort(chosen.codec, keys, num_keys);
  return true;
}

worker_scratch& kept_worker_scratch() { return kept.of_worker(); }

void sort_small(const keys::key_codec& codec, void* keys, std::uint64_t num_keys) {
  if (num_keys < 2) return;
  keys::with_width(codec.width_bytes(), [&]<class K>() {
    const keys::codec_of<K> of_width = codec.of<K>();
    if constexpr (sizeof(K) >= 4) {
      if (has_vector_sort()) return sort_in_vectors(of_width, static_cast<K*>(keys), num_keys);
    } else if (sizeof(K) == 1 || has_vector_sort()) {
      return sort_narrow(of_width, static_cast<K*>(keys), num_keys);
    }
    sort_by_digits(of_width, static_cast<K*>(keys), num_keys);
  });
}

bool settle_small(const keys::key_codec& codec, void* keys, std::uint64_t num_keys, left_to_others left) {
  return keys::with_width(codec.width_bytes(), [&]<class K>() {
    if constexpr (sizeof(K) >= 4) {
      K* const first = static_cast<K*>(keys);
      return settle_in_vectors(codec.of<K>(), first, num_keys, left, kept.arrays(first, num_keys));
    } else if constexpr (sizeof(K) == 2) {
      K* const first = static_cast<K*>(keys);
      return settle_narrow(codec.of<K>(), first, num_keys, kept.arrays(first, num_keys));
    } else {
      return false;
    }
  });
}

void sort_small_segments(const keys::key_codec& codec, void* keys, const segment_bounds& bounds, segment_range range,
                         std::uint64_t most_keys) {
  const network_sorts::sort_of_type& chosen = all_network_sorts().of(codec.type, keys::direction_of(codec.descending));
  keys::with_width(codec.width_bytes(), [&]<class K>() {
    std::uint64_t begin = bounds.at(range.first);
    for (std::uint64_t segment = range.first; segment < range.last; ++segment) {
      const std::uint64_t end = bounds.at(segment + 1);
      const std::uint64_t num_keys = end - begin;
      K* const first = static_cast<K*>(keys) + begin;
      begin = end;
      if (num_keys < 2 || num_keys > most_keys) continue;
      if (num_keys <= chosen.by_network.most_keys) {
        chosen.by_network.sort(chosen.codec, first, num_keys);
      } else {
        sort_small(codec, first, num_keys);
      }
    }
  });
}

}  // namespace spansort::device::host
