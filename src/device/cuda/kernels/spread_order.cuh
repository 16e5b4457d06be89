// SPDX-License-Identifier: Apache-2.0
// Orders by the buckets of a spread, for partitions and what follows on them.
#pragma once

#include <cstdint>

#include "device/cuda/kernels/key_order.cuh"
#include "device/cuda/kernels/key_spread.hpp"

namespace spansort::device::cuda {

/// Returns where in the spread's cells an encoded key lies: their number above the place in one, 32 bits together.
[[nodiscard]] __device__ __forceinline__ std::uint32_t place_in_cells(const key_spread& spread, std::uint64_t encoded) {
  const auto high = static_cast<std::uint32_t>(encoded >> 32);
  const std::uint32_t distance = high - spread.least;
  const std::uint32_t most = __funnelshift_lc(0xffffffffU, 0, spread.shift);
  const std::uint32_t place = __funnelshift_rc(static_cast<std::uint32_t>(encoded), distance, spread.shift);
  return high < spread.least ? 0 : distance > most ? 0xffffffffU : place;
}

[[nodiscard]] __device__ __forceinline__ unsigned cell_of(const key_spread& spread, std::uint32_t place) {
  return place >> (32 - spread.cell_bits);
}

/// Returns the bucket of an encoded key.
[[nodiscard]] __device__ __forceinline__ unsigned bucket_of(const key_spread& spread, std::uint64_t encoded) {
  const std::uint32_t place = place_in_cells(spread, encoded);
  const std::uint32_t cell = __ldg(spread.cells + cell_of(spread, place));
  return (cell >> 6) + __funnelshift_rc(place << spread.cell_bits, 0, cell & 63U);
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

/// Calls f(order) with `order`, or with the order by its spread where keys have one.
template <class K, class Order, class F>
decltype(auto) with_spread(const Order& order, const key_spread& spread, F&& f) {
  if constexpr (sizeof(K) == 8) {
    if (spread.cells != nullptr) return f(spread_order<Order>{order, spread});
  }
  return f(order);
}

}  // namespace spansort::device::cuda
