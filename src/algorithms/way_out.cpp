// SPDX-License-Identifier: Apache-2.0
#include "algorithms/way_out.hpp"

#include <algorithm>

#include "algorithms/sizes.hpp"
#include "base/threads.hpp"
#include "device/packed_keys.hpp"

namespace spansort::algorithms {

way_out::way_out(rank& of, const device::record_shape& shape, const sort_settings& options)
    : shape_(shape),
      as_they_are_(dynamic_cast<device::outbox_carrier&>(*of.copies)),
      packed_(dynamic_cast<device::outbox_carrier&>(*of.copies_out)) {
  packed_.prepare_to_pack(options.threads);
}

void way_out::carry(const device::outgoing_keys& keys) {
  waiting_.add(keys);
  // Either of the two may find that the other has taken these; together they take all.
  if (shape_.value_bytes == 0) as_they_are_.carry_next(waiting_, shape_.codec, device::copy_form::as_they_are);
  packed_.carry_next(waiting_, shape_.codec, device::copy_form::packed);
}

bool goes_packed(const std::vector<rank>& ranks, const problem& sort, const sort_settings& options) {
  const keys::key_codec& codec = sort.shape.codec;
  const bool is_possible = sort.flow == nullptr && codec.is_bijective() && codec.width_bytes() >= 4 &&
                           std::ranges::all_of(ranks, [](const rank& r) {
                             return dynamic_cast<const device::outbox_carrier*>(r.copies.get()) != nullptr;
                           });
  if (!is_possible || options.hooks.packing == base::key_packing::never) return false;
  if (options.hooks.packing == base::key_packing::always) return true;
  const unsigned most_devices = codec.width_bytes() == 4 ? most_packing_devices : most_packing_devices_wide;
  return ranks.size() <= most_devices && sort.num_keys * sort.shape.bytes() >= overlap_worth_bytes &&
         device::is_worth_packing(codec, sort.num_keys) &&
         base::resolve_threads(options.threads) >= least_unpacking_threads * ranks.size();
}

}  // namespace spansort::algorithms
