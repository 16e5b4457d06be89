// SPDX-License-Identifier: Apache-2.0
// Kernels encode keys on the fly. Keys that are their own encoding skip the arithmetic.
#pragma once

#include <cstdint>

#include "keys/codec.hpp"
#include "keys/digit.hpp"

namespace spansort::device::cuda {

// An order says what kernels hold of a key while they work on it: take() makes that of the key, give() makes the key of
// it again, and encode() makes the key's encoding of it. `holds_encoded` says that what is held is the encoding.
// `makes_positions` says that records have no values yet, and that their positions are to be these. Orders whose digits
// take long to find say so (are_digits_kept).

template <class K>
struct identity_order {
  explicit identity_order(const keys::codec_of<K>&) {}
  __device__ __forceinline__ K take(K key) const { return key; }
  __device__ __forceinline__ K give(K taken) const { return taken; }
  __device__ __forceinline__ K encode(K taken) const { return taken; }
  static constexpr bool holds_encoded = true;
  static constexpr bool makes_positions = false;
};

/// The order by an encoding that loses nothing. Keys are held encoded.
template <class K>
struct encoded_order {
  keys::codec_of<K> codec;
  explicit encoded_order(const keys::codec_of<K>& c) : codec(c) {}
  __device__ __forceinline__ K take(K key) const { return codec.encode_bits(key); }
  __device__ __forceinline__ K give(K taken) const { return codec.decode(taken); }
  __device__ __forceinline__ K encode(K taken) const { return taken; }
  static constexpr bool holds_encoded = true;
  static constexpr bool makes_positions = false;
};

/// The order of a sort's first pass that leaves keys encoded for the passes behind it, which need no arithmetic then.
template <class K>
struct encoding_order {
  keys::codec_of<K> codec;
  explicit encoding_order(const keys::codec_of<K>& c) : codec(c) {}
  __device__ __forceinline__ K take(K key) const { return codec.encode_bits(key); }
  __device__ __forceinline__ K give(K taken) const { return taken; }
  __device__ __forceinline__ K encode(K taken) const { return taken; }
  static constexpr bool holds_encoded = true;
  static constexpr bool makes_positions = false;
};

/// The order of a sort's last pass, which finds keys encoded and stores the keys themselves.
template <class K>
struct decoding_order {
  keys::codec_of<K> codec;
  explicit decoding_order(const keys::codec_of<K>& c) : codec(c) {}
  __device__ __forceinline__ K take(K encoded) const { return encoded; }
  __device__ __forceinline__ K give(K taken) const { return codec.decode(taken); }
  __device__ __forceinline__ K encode(K taken) const { return taken; }
  static constexpr bool holds_encoded = true;
  static constexpr bool makes_positions = false;
};

/// The order by an encoding that folds ties and so loses bits. Keys are held as they are, and encoded wherever a digit
/// is looked at.
template <class K>
struct folded_order {
  keys::codec_of<K> codec;
  explicit folded_order(const keys::codec_of<K>& c) : codec(c) {}
  __device__ __forceinline__ K take(K key) const { return key; }
  __device__ __forceinline__ K give(K taken) const { return taken; }
  __device__ __forceinline__ K encode(K taken) const { return codec.encode(taken); }
  static constexpr bool holds_encoded = false;
  static constexpr bool makes_positions = false;
};

/// The order of an argsort's first pass. Nobody asks for the keys behind it, so they are stored encoded, ties folded or
/// not, and all later passes find keys that are their own encoding.
template <class K>
struct argsort_order {
  keys::codec_of<K> codec;
  explicit argsort_order(const keys::codec_of<K>& c) : codec(c) {}
  __device__ __forceinline__ K take(K key) const { return codec.encode(key); }
  __device__ __forceinline__ K give(K taken) const { return taken; }
  __device__ __forceinline__ K encode(K taken) const { return taken; }
  static constexpr bool holds_encoded = true;
  static constexpr bool makes_positions = true;
};

/// This says whether kernels keep the digits of an order rather than find them again.
template <class Order>
inline constexpr bool are_digits_kept = false;

/// Returns the digit of what is held of a key: the bits of its encoding above `shift` in `mask`.
template <class Order, class K>
[[nodiscard]] __device__ __forceinline__ unsigned digit_of_held(const Order& order, K taken, unsigned shift,
                                                                unsigned mask) {
  if constexpr (are_digits_kept<Order>) {
    return order.digit(taken, shift, mask);
  } else {
    return static_cast<unsigned>(order.encode(taken) >> shift) & mask;
  }
}

/// Calls f(order) with the cheapest order for `codec`.
template <class K, class F>
decltype(auto) with_order(const keys::codec_of<K>& codec, F&& f) {
  if (codec.is_identity()) return f(identity_order<K>(codec));
  if (!codec.folds_ties) return f(encoded_order<K>(codec));
  return f(folded_order<K>(codec));
}

/// Returns the least number that a lane of a full warp has.
[[nodiscard]] __device__ __forceinline__ unsigned warp_min(unsigned x) {
#if __CUDA_ARCH__ >= 800
  return __reduce_min_sync(0xffffffffU, x);
#else
  for (unsigned distance = 16; distance != 0; distance /= 2) x = min(x, __shfl_xor_sync(0xffffffffU, x, distance));
  return x;
#endif
}
/// Returns the greatest number that a lane of a full warp has.
[[nodiscard]] __device__ __forceinline__ unsigned warp_max(unsigned x) {
#if __CUDA_ARCH__ >= 800
  return __reduce_max_sync(0xffffffffU, x);
#else
  for (unsigned distance = 16; distance != 0; distance /= 2) x = max(x, __shfl_xor_sync(0xffffffffU, x, distance));
  return x;
#endif
}

/// Returns the sum over the 32 lanes of a full warp.
__device__ __forceinline__ unsigned warp_sum(unsigned x) {
#if __CUDA_ARCH__ >= 800
  return __reduce_add_sync(0xffffffffU, x);
#else
  for (unsigned distance = 16; distance != 0; distance /= 2) x += __shfl_xor_sync(0xffffffffU, x, distance);
  return x;
#endif
}
/// Returns the bits that any of the 32 lanes of a full warp has.
__device__ __forceinline__ unsigned warp_or(unsigned x) {
#if __CUDA_ARCH__ >= 800
  return __reduce_or_sync(0xffffffffU, x);
#else
  for (unsigned distance = 16; distance != 0; distance /= 2) x |= __shfl_xor_sync(0xffffffffU, x, distance);
  return x;
#endif
}

/// A value as kernels move it: bytes of the same number and alignment.
struct no_value {};
struct alignas(4) value4 {
  std::uint32_t word;
};
struct alignas(8) value8 {
  std::uint64_t word;
};
struct alignas(16) value16 {
  std::uint64_t words[2];
};

template <class V>
inline constexpr unsigned value_bytes_of = sizeof(V);
template <>
inline constexpr unsigned value_bytes_of<no_value> = 0;

template <class F>
decltype(auto) with_value(unsigned value_bytes, F&& f) {
  switch (value_bytes) {
    case 0: return f.template operator()<no_value>();
    case 4: return f.template operator()<value4>();
    case 8: return f.template operator()<value8>();
    default: return f.template operator()<value16>();
  }
}

}  // namespace spansort::device::cuda
