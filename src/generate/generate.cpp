// SPDX-License-Identifier: Apache-2.0
// generate(): from a run-time type and distribution to the loop that fills the keys.
#include "spansort/generate.hpp"

#include "generate/distributions.hpp"
#include "keys/dispatch.hpp"

namespace spansort {
namespace {

bool depends_on_place(distribution_kind kind) noexcept {
  switch (kind) {
    case distribution_kind::sorted:
    case distribution_kind::reverse:
    case distribution_kind::nearly_sorted:
    case distribution_kind::staggered:
    case distribution_kind::bucket_sorted: return true;
    default: return false;
  }
}

}  // namespace

void generate(key_span keys, const distribution& d, std::uint64_t seed) {
  generation::require_valid(d);
  if (keys.num_keys == 0) return;
  keys::with_width(static_cast<unsigned>(size_bytes(keys.type)), [&]<class K>() {
    const generation::fill_request<K> request{generation::key_space<K>(keys.type), static_cast<K*>(keys.data),
                                              keys.num_keys, seed};
    if (depends_on_place(d.kind)) {
      generation::fill_ordered(request, d.kind);
    } else {
      generation::fill_independent(request, d);
    }
  });
}

}  // namespace spansort
