// SPDX-License-Identifier: Apache-2.0
// Orders by the buckets of a spread, for partitions and what follows on them.
#pragma once

#include <cstdint>
#include <type_traits>

#include "device/cuda/kernels/key_order.cuh"
#include "device/cuda/kernels/key_spread.hpp"

namespace spansort::device::cuda {

/// Returns where in the spread's cells an encoded key lies: their number above the place in one, 32 bits together.
[[nodiscard]] __device__ __forceinline__ std::uint32_t place_in_cells(const spread_range& range,
                                                                      std::uint64_t encoded) {
  const auto high = static_cast<std::uint32_t>(encoded >> 32);
  const std::uint32_t distance = high - range.least;
  const std::uint32_t place = __funnelshift_rc(static_cast<std::uint32_t>(encoded), distance, range.shift);
  return high < range.least ? 0 : distance > range.most ? 0xffffffffU : place;
}

/// Returns the range of a spread, which kernels before this one have written.
[[nodiscard]] __device__ __forceinline__ spread_range range_of(const key_spread& spread) {
  static_assert(sizeof(spread_range) == sizeof(uint4));
  const uint4 words = __ldg(reinterpret_cast<const uint4*>(&spread.table->range));
  return {words.x, words.y, words.z, words.w};
}

/// Returns the bucket of an encoded key.
[[nodiscard]] __device__ __forceinline__ unsigned bucket_of(const key_spread& spread, std::uint64_t encoded) {
  const spread_range range = range_of(spread);
  if (range.cell_bits == 0) return static_cast<std::uint32_t>(encoded >> 32) >> (32 - spread.bucket_bits);
  const std::uint32_t place = place_in_cells(range, encoded);
  const std::uint32_t cell = __ldg(spread.table->cells + (place >> (32 - range.cell_bits)));
  return (cell >> 6) + __funnelshift_rc(place << range.cell_bits, 0, cell & 63U);
}

/// The order `Base` but for the encoding, whose highest bits are the key's bucket. The encodings of keys that are in
/// one bucket are alike, so this is for partitions by these bits, and for nothing that sorts what is in a bucket. What
/// is held of a key is what `Base` holds.
template <class Base>
struct spread_order {
  Base base;
  key_spread spread;
  __device__ __forceinline__ std::uint64_t take(std::uint64_t key) const { return base.take(key); }
  __device__ __forceinline__ std::uint64_t give(std::uint64_t taken) const { return base.give(taken); }
  __device__ __forceinline__ std::uint64_t encode(std::uint64_t taken) const {
    return std::uint64_t{bucket_of(spread, base.encode(taken))} << (64 - spread.bucket_bits);
  }
  [[nodiscard]] __device__ __forceinline__ unsigned digit(std::uint64_t taken, unsigned shift, unsigned mask) const {
    return bucket_of(spread, base.encode(taken)) >> (shift - (64 - spread.bucket_bits)) & mask;
  }
  static constexpr bool holds_encoded = Base::holds_encoded;
  static constexpr bool makes_positions = Base::makes_positions;
};

template <class Base>
inline constexpr bool are_digits_kept<spread_order<Base>> = true;

template <class Base>
struct folding_of<spread_order<Base>> {
  using of_base = folding_of<Base>;
  static constexpr bool may_be_known = of_base::may_be_known;
  static __device__ __forceinline__ decltype(auto) folding(const spread_order<Base>& order) {
    return of_base::folding(order.base);
  }
  static __device__ __forceinline__ auto unfolded(const spread_order<Base>& order) {
    const auto base = of_base::unfolded(order.base);
    return spread_order<std::remove_const_t<decltype(base)>>{base, order.spread};
  }
};

/// Calls f(order) with `order`, or with the order by its spread where keys have one.
template <class K, class Order, class F>
decltype(auto) with_spread(const Order& order, const key_spread& spread, F&& f) {
  if constexpr (sizeof(K) == 8) {
    if (spread.table != nullptr) return f(spread_order<Order>{order, spread});
  }
  return f(order);
}

}  // namespace spansort::device::cuda
