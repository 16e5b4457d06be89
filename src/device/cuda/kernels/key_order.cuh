// SPDX-License-Identifier: Apache-2.0
// Kernels encode keys on the fly. Keys that are their own encoding skip the arithmetic.
#pragma once

#include <cstdint>
#include <type_traits>

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
  __host__ __device__ explicit encoded_order(const keys::codec_of<K>& c) : codec(c) {}
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
/// is looked at. `any_folded` may point to device memory that is 0 where folding changes no key of the input, as mostly
/// no float is -0.0 or NaN: kernels then hold keys encoded (with_known_folding()).
template <class K>
struct folded_order {
  keys::codec_of<K> codec;
  const std::uint32_t* any_folded;
  explicit folded_order(const keys::codec_of<K>& c, const std::uint32_t* any = nullptr) : codec(c), any_folded(any) {}
  __device__ __forceinline__ K take(K key) const { return key; }
  __device__ __forceinline__ K give(K taken) const { return taken; }
  __device__ __forceinline__ K encode(K taken) const {
    // For keys of 8 bytes a branch takes less time than the arithmetic, and for those of 4 bytes more.
    if constexpr (sizeof(K) < 8) return codec.encode(taken);
    if (codec.folds_ties && may_fold(taken)) return codec.encode_bits(codec.fold(taken));
    return codec.encode_bits(taken);
  }
  /// Returns whether folding may change the key, by a codec that folds ties. Few keys look so that it leaves as they
  /// are: 0.0, infinity, and of 8 bytes the least floats.
  [[nodiscard]] __device__ __forceinline__ bool may_fold(K key) const {
    constexpr unsigned unread_bits = sizeof(K) == 8 ? 32 : 0;
    using word = std::conditional_t<sizeof(K) == 8, std::uint32_t, K>;
    const auto magnitude = static_cast<word>((key & codec.magnitude_mask) >> unread_bits);
    const auto infinity = static_cast<word>(codec.infinity >> unread_bits);
    return static_cast<word>(magnitude - 1) >= static_cast<word>(infinity - 1);
  }
  [[nodiscard]] __device__ __forceinline__ unsigned digit(K taken, unsigned shift, unsigned mask) const {
    return static_cast<unsigned>(encode(taken) >> shift) & mask;
  }
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
template <class K>
inline constexpr bool are_digits_kept<folded_order<K>> = true;

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

/// Calls f(order) with the cheapest order for `codec`. `any_folded` is that of folded_order.
template <class K, class F>
decltype(auto) with_order(const keys::codec_of<K>& codec, F&& f, const std::uint32_t* any_folded = nullptr) {
  if (codec.is_identity()) return f(identity_order<K>(codec));
  if (!codec.folds_ties) return f(encoded_order<K>(codec));
  return f(folded_order<K>(codec, any_folded));
}

/// Says of orders which of them may find that folding changes no key, and which order is as good then.
template <class Order>
struct folding_of {
  static constexpr bool may_be_known = false;
};
template <class K>
struct folding_of<folded_order<K>> {
  static constexpr bool may_be_known = true;
  static __device__ __forceinline__ const folded_order<K>& folding(const folded_order<K>& order) { return order; }
  static __device__ __forceinline__ encoded_order<K> unfolded(const folded_order<K>& order) {
    return encoded_order<K>(order.codec);
  }
};

/// Calls f(order), in a kernel, with `order`, or where folding is known to change no key of the input with the order
/// that holds keys encoded. All threads of a grid take the same way.
template <class Order, class F>
__device__ __forceinline__ void with_known_folding(const Order& order, const F& f) {
  if constexpr (folding_of<Order>::may_be_known) {
    const std::uint32_t* const any_folded = folding_of<Order>::folding(order).any_folded;
    if (any_folded != nullptr && *any_folded == 0) return f(folding_of<Order>::unfolded(order));
  }
  f(order);
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
