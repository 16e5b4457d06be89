// SPDX-License-Identifier: Apache-2.0
#include "device/host/shared_call.hpp"

#include "device/host/heavy_sample.hpp"
#include "device/host/primitives.hpp"
#include "device/host/record_dispatch.hpp"
#include "keys/dispatch.hpp"

namespace spansort::device::host {

kept_team& kept_pair_team() {
  static auto* const one = new kept_team;
  return *one;
}

bool are_one_threads(const keys::key_codec& codec, const part_plan& plan, const void* keys, std::uint64_t num_keys,
                     unsigned num_threads) {
  if (num_keys > most_small_pairs) return false;
  if (plan.num_parts == 0 && num_keys <= most_alone(num_threads)) return true;
  return keys::with_width(codec.width_bytes(), [&]<class K>() {
    const auto* const first = static_cast<const K*>(keys);
    const auto of_width = codec.of<K>();
    if (may_settle_alone(num_keys, num_threads) && look_at_first(of_width, first, num_keys).ascending &&
        ordered_front(of_width, first, num_keys) != 0) {
      return true;
    }
    if constexpr (sizeof(K) >= 4) {
      const frequent_keys<K> frequent = sample_frequent(first, num_keys);
      return frequent.are_all() || (frequent.are_heavy() && num_keys <= most_alone(num_threads));
    }
    return false;
  });
}

bool sort_in_parts(const shared_call& call, const records& from) {
  if (call.plan.num_parts == 0) return false;
  return keys::with_width(call.shape.codec.width_bytes(), [&]<class K>() {
    return with_value(call.shape.value_bytes, [&]<class V>() {
      if constexpr (sizeof(K) >= 4 && (value_bytes_of<V> == 4 || value_bytes_of<V> == 8)) {
        call.team.prepare_scratch(static_cast<unsigned>(call.plan.num_threads));
        return part_sorter<K, V>(call.team, call.shape.codec, call.plan)
            .sort(split<K, V>(from), split<K, V>(call.source), split<K, V>(call.alternate), call.num_keys);
      }
      return false;
    });
  });
}

void sort_with(const shared_call& call) {
  call.team.prepare_scratch();
  const unsigned key_bits = call.shape.codec.key_bits();
  const local_sort_request request{
      .shape = call.shape,
      .source = call.source,
      .alternate = call.alternate,
      .segments = {{0, call.num_keys, {0, key_bits}}},
  };
  keys::with_width(call.shape.codec.width_bytes(), [&]<class K>() {
    const sort_limits limits{.word_inline_keys = most_alone(call.team.num_threads())};
    run_local_sort<K>(execution{call.team, limits, nullptr}, request);
  });
}

}  // namespace spansort::device::host
