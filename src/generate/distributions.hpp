// SPDX-License-Identifier: Apache-2.0
// One distribution as a function from index to key, and the parallel loop that evaluates it for a part of the indices.
#pragma once

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include <concepts>
#include <cstdint>

#include "generate/key_space.hpp"
#include "spansort/generate.hpp"

namespace spansort::generation {

/// Throws invalid_argument unless the parameter fits the kind.
void require_valid(const distribution& d);

/// What every distribution needs.
template <std::unsigned_integral K>
struct fill_request {
  key_space<K> space;
  K* keys = nullptr;  ///< where the part goes
  std::uint64_t num_keys_in_part = 0;
  std::uint64_t first = 0;     ///< index of the part's first key
  std::uint64_t num_keys = 0;  ///< in all
  std::uint64_t seed = 0;
};

/// keys[i - first] = key_at(i) for the part's indices, in parallel.
template <std::unsigned_integral K, class F>
void fill(const fill_request<K>& request, const F& key_at) {
  constexpr std::uint64_t grain_keys = std::uint64_t{1} << 14;
  const auto fill_block = [&](const tbb::blocked_range<std::uint64_t>& block) {
    const F local = key_at;  // so that the optimiser sees that the stores below do not change it
    K* const keys = request.keys;
    const std::uint64_t first = request.first;
    for (std::uint64_t i = block.begin(); i != block.end(); ++i) keys[i] = local(first + i);
  };
  tbb::task_group_context own(tbb::task_group_context::isolated);  // not cancelled with the caller's tasks
  tbb::parallel_for(tbb::blocked_range<std::uint64_t>(0, request.num_keys_in_part, grain_keys), fill_block, own);
}

/// Distributions whose keys are drawn one by one: uniform, normal, zero, zipf, entropy, last-digit-only, one-spanning,
/// special-floats.
template <std::unsigned_integral K>
void fill_independent(const fill_request<K>& request, const distribution& d);

/// Distributions whose keys depend on their place: sorted, reverse, nearly-sorted, staggered, bucket-sorted.
template <std::unsigned_integral K>
void fill_ordered(const fill_request<K>& request, distribution_kind kind);

}  // namespace spansort::generation
