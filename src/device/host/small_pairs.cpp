// SPDX-License-Identifier: Apache-2.0
#include "device/host/small_pairs.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>
#include <utility>

#include "device/host/few_pairs.hpp"
#include "device/host/heavy_pairs.hpp"
#include "device/host/in_cache_sort.hpp"
#include "device/host/misplaced_keys.hpp"
#include "device/host/ordered_runs.hpp"
#include "device/host/ordered_tail.hpp"
#include "device/host/pair_network.hpp"
#include "device/host/record_dispatch.hpp"
#include "device/host/records.hpp"
#include "device/host/repeated_pairs.hpp"
#include "device/host/scratch.hpp"
#include "device/host/small_sort.hpp"
#include "device/host/vector_kernels.hpp"
#include "device/host/vector_sort.hpp"
#include "device/host/word_sort.hpp"
#include "device/host/write_positions.hpp"
#include "keys/dispatch.hpp"

namespace spansort::device::host {
namespace {

template <class K, class Order>
const pair_network& network_of(std::uint64_t value_bytes) {
  constexpr bool folds = std::is_same_v<Order, folding_order<K>>;
  static const std::array<pair_network, 2> networks = {find_pair_network<K>(4, folds), find_pair_network<K>(8, folds)};
  return networks[value_bytes / 8];
}

/// Sorts as few pairs as a network takes. Wide values are moved by the order of the keys.
template <class K, class V, class Order>
void sort_few(const keys::codec_of<K>& codec, split_records<K, V> records, std::uint64_t num_keys) {
  if constexpr (value_bytes_of<V> <= 8) {
    network_of<K, Order>(value_bytes_of<V>).sort(&codec, records.keys, records.values, num_keys);
  } else {
    std::uint32_t positions[most_network_pairs];
    K keys[most_network_pairs];
    V values[most_network_pairs];
    const split_records<K, V> gathered{keys, values};
    network_of<K, Order>(4).order(&codec, records.keys, positions, num_keys);
    for (std::uint64_t i = 0; i < num_keys; ++i) gathered.put(i, records.get(positions[i]));
    std::memcpy(records.keys, keys, num_keys * sizeof(K));
    std::memcpy(static_cast<void*>(records.values), values, num_keys * sizeof(V));
  }
}

/// Insertion, which ends at once where all is in order.
template <class K, class V, class Order>
void insert_records(const Order& order, split_records<K, V> records, std::uint64_t num_keys) {
  for (std::uint64_t i = 1; i < num_keys; ++i) {
    const packed_record<K, V> r = records.get(i);
    const K encoded = order.encode(r.key);
    std::uint64_t j = i;
    for (; j > 0 && order.encode(records.keys[j - 1]) > encoded; --j) records.put(j, records.get(j - 1));
    records.put(j, r);
  }
}

/// Leaves records in order, and reverses those whose keys strictly fall.
template <class K, class V>
bool finish_ordered(const keys::codec_of<K>& codec, split_records<K, V> records, std::uint64_t num_keys) {
  const order_flags order = scan_order(codec, records.keys, num_keys);
  if (!order.ascending && order.strictly_descending) {
    std::reverse(records.keys, records.keys + num_keys);
    std::reverse(records.values, records.values + num_keys);
  }
  return is_settled(order);
}

/// Returns the room in a thread's scratch for pairs that one thread sorts.
template <class K, class V>
split_records<K, V> spare_records(worker_scratch& scratch) {
  static_assert(most_small_pairs * std::max<std::uint64_t>(sizeof(K), value_bytes_of<V>) <= max_local_bytes);
  return {reinterpret_cast<K*>(scratch.records[0].get()), reinterpret_cast<V*>(scratch.records[1].get())};
}

constexpr std::uint64_t most_inserted = 8;
/// Sorts pairs whose keys repeat into `result`, which is `from` itself or does not overlap it. Returns false, with
/// nothing written, where others are too many.
template <class K, class V, class Order>
bool sort_repeated(const keys::codec_of<K>& codec, split_records<K, V> from, split_records<K, V> result,
                   std::uint64_t num_keys, worker_scratch& scratch) {
  using split = split_records<K, V>;
  if (!may_repeat(from.keys, num_keys)) return false;
  return sort_repeated_pairs<K, V, Order>(
      codec, from, result, num_keys, scratch,
      [&](split light, split to, std::uint64_t num_light, in_cache_sorter<K, V, Order>& sorter) {
        constexpr keys::bit_range all{0, sizeof(K) * 8};
        if (num_light > most_network_pairs || (value_bytes_of<V>) > 8 || !has_vector_sort()) {
          if (is_worth_another_look(num_keys, num_light)) return sorter.sort(light, to, num_light, all);
          return sorter.sort_light(light, to, num_light, all);
        }
        for (std::uint64_t i = 0; i < num_light; ++i) to.put(i, light.get(i));
        if (num_light > 1) sort_few<K, V, Order>(codec, to, num_light);
      });
}

template <class K, class V, class Order>
void sort_pairs_as(const keys::codec_of<K>& codec, split_records<K, V> records, std::uint64_t num_keys);

/// Sorts misplaced keys and where they come from.
template <class K, class Order>
auto sort_with_origins(const keys::codec_of<K>& codec) {
  return [codec](split_records<K, value4> misplaced, split_records<K, value4>, std::uint64_t count) {
    sort_pairs_as<K, value4, Order>(codec, misplaced, count);
  };
}

/// Sorts pairs whose keys are in order but for a few. Returns false, with nothing done, where there are others.
template <class K, class V, class Order>
[[gnu::noinline]] bool sort_nearly_ordered(const keys::codec_of<K>& codec, split_records<K, V> records,
                                           std::uint64_t num_keys) {
  misplaced_sorter<K, V, in_parts_alone> sorter(codec, records.keys, num_keys, {});
  if (!sorter.find()) return false;
  sorter.sort_records(records, sort_with_origins<K, Order>(codec));
  return true;
}

template <class K, class V, class Order>
void sort_pairs_as(const keys::codec_of<K>& codec, split_records<K, V> records, std::uint64_t num_keys) {
  const Order order(codec);
  if constexpr (sizeof(K) >= 4) {
    if (num_keys > 1 && num_keys <= most_network_pairs && has_vector_sort()) {
      return sort_few<K, V, Order>(codec, records, num_keys);
    }
  }
  if (num_keys <= most_inserted) return insert_records(order, records, num_keys);
  worker_scratch& scratch = kept_worker_scratch();
  const order_flags first = look_at_first(codec, records.keys, num_keys);
  if (is_settled(first) && finish_ordered(codec, records, num_keys)) return;
  const split_records<K, V> spare = spare_records<K, V>(scratch);
  if (const std::uint64_t front = first.ascending ? ordered_front(codec, records.keys, num_keys) : 0; front != 0) {
    sort_pairs_as<K, V, Order>(codec, records + front, num_keys - front);
    return merge_tail(order, records, front, num_keys, spare);
  }
  if constexpr (sizeof(K) >= 4) {
    if (first.ascending && merge_runs_alone(codec, records, spare, num_keys)) return;
    if (may_be_nearly_ordered(codec, records.keys, num_keys) &&
        sort_nearly_ordered<K, V, Order>(codec, records, num_keys)) {
      return;
    }
  }
  if constexpr (sizeof(K) >= 4) {
    if (sort_repeated<K, V, Order>(codec, records, records, num_keys, scratch)) return;
  }
  in_cache_sorter<K, V, Order>(order, codec, scratch, false).sort_light(records, records, num_keys, {0, sizeof(K) * 8});
}

template <class K, class V>
bool argsort_ordered(const keys::codec_of<K>& codec, const K* keys, V* indices, std::uint64_t num_keys) {
  const order_flags order = scan_order(codec, keys, num_keys);
  if (!is_settled(order)) return false;
  if (order.ascending) {
    write_positions(indices, num_keys);
  } else {
    write_positions_down(indices, num_keys, num_keys - 1);
  }
  return true;
}

/// Sorts a copy of the keys, and the indices with them.
template <class K, class V, class Order>
void argsort_records(const keys::codec_of<K>& codec, const K* keys, V* indices, std::uint64_t num_keys,
                     worker_scratch& scratch) {
  static_assert(most_small_pairs * sizeof(std::uint64_t) <= combining_bytes);
  auto* const copy = reinterpret_cast<K*>(scratch.combining.get());
  std::memcpy(copy, keys, num_keys * sizeof(K));
  write_positions(indices, num_keys);
  const split_records<K, V> records{copy, indices};
  in_cache_sorter<K, V, Order> sorter(Order(codec), codec, scratch, false);
  sorter.keep(num_keys * sizeof(K));
  sorter.sort(records, records, num_keys, {0, sizeof(K) * 8});
}

/// The order of keys that are a few values.
template <class K, class V, class Order>
bool argsort_few(const Order& order, const K* keys, V* indices, std::uint64_t num_keys) {
  std::array<std::uint64_t, most_few_values> counts = {};
  const few_values<K> few = count_classes(order, keys, num_keys, counts);
  if (few.count == 0) return false;
  class_places<V> places;
  for (unsigned v = 0; v < few.count; ++v) {
    places.next[v] = indices;
    places.end[v] = indices += counts[v];
  }
  place_positions(keys, num_keys, few.span(), places);
  return true;
}

/// The order of keys of which a few are heavy: their positions wait, and the others are sorted with theirs.
template <class K, class V, class Order>
bool argsort_around_heavy(const keys::codec_of<K>& codec, const K* keys, V* indices, std::uint64_t num_keys,
                          worker_scratch& scratch) {
  const Order order(codec);
  const heavy_keys<K> heavy = sample_heavy(codec, keys, num_keys);
  if (heavy.count == 0) return false;
  std::array<std::uint64_t, most_heavy_pairs> counts = {};
  count_heavy(keys, num_keys, heavy.span(), counts.data());
  std::uint64_t num_heavy = 0;
  for (unsigned h = 0; h < heavy.count; ++h) {
    if (!is_alone(codec, heavy.keys[h], keys, num_keys)) return false;
    num_heavy += counts[h];
  }
  const std::uint64_t num_light = num_keys - num_heavy;
  const std::uint64_t light_bytes = num_light * sizeof(K);
  const std::uint64_t kept_bytes = light_bytes + num_heavy * sizeof(V);
  if (4 * num_heavy < num_keys || kept_bytes > combining_bytes) return false;
  auto* const spare = reinterpret_cast<V*>(scratch.combining.get() + light_bytes);
  class_places<V> places;
  V* next = spare;
  for (unsigned h = 0; h < heavy.count; ++h) {
    places.next[h] = next;
    places.end[h] = next += counts[h];
  }
  write_positions(indices, num_keys);
  const split_records<K, V> light{reinterpret_cast<K*>(scratch.combining.get()), indices};
  split_pairs<K, V>({const_cast<K*>(keys), indices}, num_keys, heavy.span(), places, light, num_light);
  in_cache_sorter<K, V, Order> sorter(order, codec, scratch, false);
  sorter.keep(kept_bytes);
  if (num_light != 0) sorter.sort(light, light, num_light, {0, sizeof(K) * 8});
  const auto cuts = places_among(order, light.keys, num_light, heavy);
  for (unsigned h = heavy.count; h-- > 0;) {
    std::memmove(static_cast<void*>(indices + cuts[h] + num_heavy), indices + cuts[h],
                 (cuts[h + 1] - cuts[h]) * sizeof(V));
    num_heavy -= counts[h];
    std::memcpy(static_cast<void*>(indices + cuts[h] + num_heavy), spare + num_heavy, counts[h] * sizeof(V));
  }
  return true;
}

template <class K, class V, class Order>
void argsort_as(const keys::codec_of<K>& codec, const K* keys, V* indices, std::uint64_t num_keys) {
  if constexpr (sizeof(K) >= 4) {
    if (num_keys > 1 && num_keys <= most_network_pairs && has_vector_sort()) {
      return network_of<K, Order>(value_bytes_of<V>).order(&codec, keys, indices, num_keys);
    }
  }
  worker_scratch& scratch = kept_worker_scratch();
  const order_flags first = look_at_first(codec, keys, num_keys);
  if (is_settled(first) && argsort_ordered(codec, keys, indices, num_keys)) return;
  if (const std::uint64_t front = first.ascending ? ordered_front(codec, keys, num_keys) : 0; front != 0) {
    argsort_as<K, V, Order>(codec, keys + front, indices, num_keys - front);
    auto* const tail = reinterpret_cast<V*>(scratch.records[0].get());
    std::memcpy(static_cast<void*>(tail), indices, (num_keys - front) * sizeof(V));
    return merge_tail_order(Order(codec), keys, {0, front}, front, static_cast<const V*>(tail), num_keys - front,
                            indices);
  }
  if constexpr (sizeof(K) >= 4) {
    if (const unsigned most = most_runs_to_merge<K, V>(codec, num_keys, 1); first.ascending && most > 1) {
      const ordered_runs runs = find_runs(as_one_piece{}, codec, keys, num_keys, most);
      if (runs.are_few() && !are_misplaced_keys(codec, keys, num_keys, runs)) {
        return order_runs(codec, as_one_piece{}, keys, spare_records<K, V>(scratch), indices, runs);
      }
    }
    if (may_be_nearly_ordered(codec, keys, num_keys)) {
      misplaced_sorter<K, V, in_parts_alone> sorter(codec, keys, num_keys, {});
      if (sorter.find()) return sorter.write_order(indices, sort_with_origins<K, Order>(codec));
    }
    if (may_repeat(keys, num_keys) && argsort_few(Order(codec), keys, indices, num_keys)) return;
    if (may_have_heavy(keys, num_keys) && argsort_around_heavy<K, V, Order>(codec, keys, indices, num_keys, scratch)) {
      return;
    }
    word_sorter<K, V, Order> words(Order(codec), codec, scratch, false);
    if (words.takes(num_keys, {0, sizeof(K) * 8}) && words.order(keys, num_keys, indices)) return;
  }
  argsort_records<K, V, Order>(codec, keys, indices, num_keys, scratch);
}

/// Calls f(begin, num_keys) for each segment of the range that has from `fewest` to `most_keys` keys.
template <class F>
void for_small_segments(const segment_bounds& bounds, segment_range range, std::uint64_t fewest,
                        std::uint64_t most_keys, const F& f) {
  std::uint64_t begin = bounds.at(range.first);
  for (std::uint64_t segment = range.first; segment < range.last; ++segment) {
    const std::uint64_t end = bounds.at(segment + 1);
    if (end - begin >= fewest && end - begin <= most_keys) f(begin, end - begin);
    begin = end;
  }
}

}  // namespace

bool settle_small_pairs(const keys::key_codec& codec, void* keys, void* values, std::uint64_t value_bytes,
                        std::uint64_t num_keys) {
  return keys::with_width(codec.width_bytes(), [&]<class K>() {
    const keys::codec_of<K> of_width = codec.of<K>();
    return with_value(static_cast<unsigned>(value_bytes), [&]<class V>() {
      if constexpr (value_bytes_of<V> == 0) {
        return false;
      } else {
        const split_records<K, V> records{static_cast<K*>(keys), static_cast<V*>(values)};
        return is_settled(look_at_first(of_width, records.keys, num_keys)) &&
               finish_ordered(of_width, records, num_keys);
      }
    });
  });
}

bool settle_small_argsort(const keys::key_codec& codec, const void* keys, void* indices, std::uint64_t index_bytes,
                          std::uint64_t num_keys) {
  return keys::with_width(codec.width_bytes(), [&]<class K>() {
    const auto* const first = static_cast<const K*>(keys);
    const keys::codec_of<K> of_width = codec.of<K>();
    if (!is_settled(look_at_first(of_width, first, num_keys))) return false;
    if (index_bytes == 4) return argsort_ordered(of_width, first, static_cast<value4*>(indices), num_keys);
    return argsort_ordered(of_width, first, static_cast<value8*>(indices), num_keys);
  });
}

void sort_small_pairs(const keys::key_codec& codec, void* keys, void* values, std::uint64_t value_bytes,
                      std::uint64_t num_keys) {
  if (num_keys < 2) return;
  const record_shape shape{codec, static_cast<unsigned>(value_bytes)};
  keys::with_width(codec.width_bytes(), [&]<class K>() {
    const keys::codec_of<K> of_width = codec.of<K>();
    with_value_and_order<K>(shape, of_width, [&]<class V, class Order>() {
      if constexpr (value_bytes_of<V> != 0) {
        sort_pairs_as<K, V, Order>(of_width, {static_cast<K*>(keys), static_cast<V*>(values)}, num_keys);
      }
    });
  });
}

void sort_small_pairs_into(const keys::key_codec& codec, records from, records result, std::uint64_t value_bytes,
                           std::uint64_t num_keys, worker_scratch& scratch) {
  const record_shape shape{codec, static_cast<unsigned>(value_bytes)};
  keys::with_width(codec.width_bytes(), [&]<class K>() {
    const keys::codec_of<K> of_width = codec.of<K>();
    with_value_and_order<K>(shape, of_width, [&]<class V, class Order>() {
      if constexpr (value_bytes_of<V> != 0) {
        const auto source = split<K, V>(from);
        const auto sorted = split<K, V>(result);
        if constexpr (sizeof(K) >= 4) {
          if (sort_repeated<K, V, Order>(of_width, source, sorted, num_keys, scratch)) return;
        }
        in_cache_sorter<K, V, Order>(Order(of_width), of_width, scratch, false)
            .sort_light(source, sorted, num_keys, {0, sizeof(K) * 8});
      }
    });
  });
}

void argsort_small(const keys::key_codec& codec, const void* keys, void* indices, std::uint64_t index_bytes,
                   std::uint64_t num_keys) {
  if (num_keys == 0) return;
  const record_shape shape{codec, static_cast<unsigned>(index_bytes)};
  keys::with_width(codec.width_bytes(), [&]<class K>() {
    const keys::codec_of<K> of_width = codec.of<K>();
    with_value_and_order<K>(shape, of_width, [&]<class V, class Order>() {
      if constexpr (value_bytes_of<V> == 4 || value_bytes_of<V> == 8) {
        argsort_as<K, V, Order>(of_width, static_cast<const K*>(keys), static_cast<V*>(indices), num_keys);
      }
    });
  });
}

void sort_small_pairs_segments(const keys::key_codec& codec, void* keys, void* values, std::uint64_t value_bytes,
                               const segment_bounds& bounds, segment_range range, std::uint64_t most_keys) {
  const record_shape shape{codec, static_cast<unsigned>(value_bytes)};
  keys::with_width(codec.width_bytes(), [&]<class K>() {
    const keys::codec_of<K> of_width = codec.of<K>();
    with_value_and_order<K>(shape, of_width, [&]<class V, class Order>() {
      if constexpr (value_bytes_of<V> != 0) {
        const split_records<K, V> all{static_cast<K*>(keys), static_cast<V*>(values)};
        for_small_segments(bounds, range, 2, most_keys, [&](std::uint64_t begin, std::uint64_t num_keys) {
          sort_pairs_as<K, V, Order>(of_width, all + begin, num_keys);
        });
      }
    });
  });
}

void argsort_small_segments(const keys::key_codec& codec, const void* keys, void* indices, std::uint64_t index_bytes,
                            const segment_bounds& bounds, segment_range range, std::uint64_t most_keys) {
  const record_shape shape{codec, static_cast<unsigned>(index_bytes)};
  keys::with_width(codec.width_bytes(), [&]<class K>() {
    const keys::codec_of<K> of_width = codec.of<K>();
    with_value_and_order<K>(shape, of_width, [&]<class V, class Order>() {
      if constexpr (value_bytes_of<V> == 4 || value_bytes_of<V> == 8) {
        for_small_segments(bounds, range, 1, most_keys, [&](std::uint64_t begin, std::uint64_t num_keys) {
          V* const first = static_cast<V*>(indices) + begin;
          if (num_keys == 1) return write_positions(first, 1);
          argsort_as<K, V, Order>(of_width, static_cast<const K*>(keys) + begin, first, num_keys);
        });
      }
    });
  });
}

}  // namespace spansort::device::host
