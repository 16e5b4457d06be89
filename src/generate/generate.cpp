// SPDX-License-Identifier: Apache-2.0
// generate(), generate_part(): from a run-time type and distribution to the loop that fills the keys.
#include "spansort/generate.hpp"

#include <fmt/format.h>

#include "generate/distributions.hpp"
#include "keys/dispatch.hpp"
#include "keys/known_type.hpp"
#include "spansort/errors.hpp"

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
  generate_part(keys, d, seed, 0, keys.num_keys);
}

void generate_part(key_span part, const distribution& d, std::uint64_t seed, std::uint64_t first,
                   std::uint64_t num_keys_in_all) {
  generation::require_valid(d);
  keys::require_known(part.type);
  if (first > num_keys_in_all || part.num_keys > num_keys_in_all - first) {
    throw invalid_argument(
        fmt::format("{} keys from the one at {} on are not inside of {} keys", part.num_keys, first, num_keys_in_all));
  }
  if (part.num_keys == 0) return;
  keys::with_width(static_cast<unsigned>(size_bytes(part.type)), [&]<class K>() {
    const generation::fill_request<K> request{.space = generation::key_space<K>(part.type),
                                              .keys = static_cast<K*>(part.data),
                                              .num_keys_in_part = part.num_keys,
                                              .first = first,
                                              .num_keys = num_keys_in_all,
                                              .seed = seed};
    if (depends_on_place(d.kind)) {
      generation::fill_ordered(request, d.kind);
    } else {
      generation::fill_independent(request, d);
    }
  });
}

}  // namespace spansort
