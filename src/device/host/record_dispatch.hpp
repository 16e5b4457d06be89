// SPDX-License-Identifier: Apache-2.0
// The step from what a request says of its records to the template arguments of host kernels.
#pragma once

#include "base/assert.hpp"
#include "device/host/records.hpp"

namespace spansort::device::host {

/// Calls f.operator()<V>() with the value type of `value_bytes`.
template <class F>
decltype(auto) with_value(unsigned value_bytes, F&& f) {
  switch (value_bytes) {
    case 0: return f.template operator()<no_value>();
    case 4: return f.template operator()<value4>();
    case 8: return f.template operator()<value8>();
    default: break;
  }
  SPANSORT_ASSERT(value_bytes == 16);
  return f.template operator()<value16>();
}

/// Calls f.operator()<V, Order>(). Fewer than all combinations: keys alone never fold ties, and beside a value the
/// encoding's four instructions do not show, so pairs have no identity order.
template <class K, class F>
decltype(auto) with_value_and_order(const record_shape& shape, const keys::codec_of<K>& codec, F&& f) {
  return with_value(shape.value_bytes, [&]<class V>() {
    if constexpr (value_bytes_of<V> == 0) {
      if (codec.is_identity()) return f.template operator()<V, identity_order<K>>();
      SPANSORT_ASSERT(!codec.folds_ties);
    } else if constexpr (sizeof(K) > 1) {
      if (codec.folds_ties) return f.template operator()<V, folding_order<K>>();
    }
    return f.template operator()<V, bijective_order<K>>();
  });
}

}  // namespace spansort::device::host
