// SPDX-License-Identifier: Apache-2.0
// Key types: what can be sorted, and the C++ types that stand for them.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

#include "spansort/cxx20.hpp"

// CUDA's 16-bit floats, named here so that they are keys wherever their headers are included, before this one or after.
struct __half;
struct __nv_bfloat16;

namespace spansort {

/// IEEE 754 binary16, as its bits.
struct float16 {
  std::uint16_t bits;
  friend bool operator==(float16, float16) = default;  // compares bits
};

/// bfloat16 (the upper half of an f32), as its bits.
struct bfloat16 {
  std::uint16_t bits;
  friend bool operator==(bfloat16, bfloat16) = default;  // compares bits
};

/// The twelve key types.
///
/// Order of floats: -inf ... +inf, then every NaN whatever its sign, ascending and descending (NumPy 2.5).
/// Keys alone: ties are broken by bits, so that the result is one fixed sequence of bytes: -0.0 before +0.0 ascending
/// (after it descending); among NaNs those with sign bit clear by rising payload, then those with sign bit set by
/// falling payload (mirrored when descending). Pairs and argsort: -0.0 ties with +0.0 and NaN with NaN, input order
/// kept.
enum class key_type : std::uint8_t { u8, i8, u16, i16, u32, i32, u64, i64, f16, bf16, f32, f64 };

/// Maps a C++ type to its key type. Specialise it for a type of your own whose bytes are those of a key type:
///     template <>
///     struct spansort::key_traits<my_half> {
///       static constexpr spansort::key_type type = spansort::key_type::f16;
///     };
template <class T>
struct key_traits;

/// A type whose values can be sorted: bool and integers of 8 to 64 bits, character types, enumerations and std::byte
/// (by their underlying integer), float, double, and the types of C++ and CUDA for 16-bit floats: float16 and bfloat16
/// of this header, _Float16, std::float16_t, std::bfloat16_t, __half and __nv_bfloat16, where there are such; durations
/// and time points of std::chrono, and what is made like them, by their count. Long double and integers of 128 bits are
/// none: no key_type stands for them.
template <class T>
concept radix_key = requires {
  key_traits<std::remove_cv_t<T>>::type;
};

namespace detail {

template <class T>
[[nodiscard]] consteval key_type integer_key_type() {
  if (sizeof(T) == 1) return std::is_signed_v<T> ? key_type::i8 : key_type::u8;
  if (sizeof(T) == 2) return std::is_signed_v<T> ? key_type::i16 : key_type::u16;
  if (sizeof(T) == 4) return std::is_signed_v<T> ? key_type::i32 : key_type::u32;
  return std::is_signed_v<T> ? key_type::i64 : key_type::u64;
}

/// A built-in float of 16 bits, known by its properties: _Float16 and __bf16 are not in every compiler, and
/// std::is_floating_point knows them in some language modes only.
template <class T>
concept small_float = sizeof(T) == 2 && !std::is_class_v<T> && !std::is_union_v<T> && !std::is_enum_v<T> &&
                      !std::is_integral_v<T> && requires(T value) {
  static_cast<float>(value);
  static_cast<T>(1.0F);
};

/// The step from 1 to the next number is 2^-10 in binary16 and 2^-7 in bfloat16.
template <small_float T>
[[nodiscard]] consteval key_type small_float_key_type() {
  constexpr float next_half = 1.0F + 1.0F / 1024;
  return static_cast<float>(static_cast<T>(next_half)) == next_half ? key_type::f16 : key_type::bf16;
}

/// std::chrono::duration or time_point, or a type made like them: nothing but a count. <chrono> is not included for it.
template <class T>
concept time_count = std::is_class_v<T> && std::is_trivially_copyable_v<T> && requires {
  typename T::period;
  requires radix_key<typename T::rep>;
  requires sizeof(T) == sizeof(typename T::rep);
};

}  // namespace detail

template <std::integral T>
  requires(sizeof(T) <= 8)
struct key_traits<T> {
  static constexpr key_type type = detail::integer_key_type<T>();
};
template <class T>
  requires std::is_enum_v<T>
struct key_traits<T> {
  static constexpr key_type type = detail::integer_key_type<std::underlying_type_t<T>>();
};
template <detail::small_float T>
struct key_traits<T> {
  static constexpr key_type type = detail::small_float_key_type<T>();
};
template <detail::time_count T>
struct key_traits<T> {
  static constexpr key_type type = key_traits<typename T::rep>::type;
};
template <>
struct key_traits<float> {
  static constexpr key_type type = key_type::f32;
};
template <>
struct key_traits<double> {
  static constexpr key_type type = key_type::f64;
};
template <>
struct key_traits<float16> {
  static constexpr key_type type = key_type::f16;
};
template <>
struct key_traits<bfloat16> {
  static constexpr key_type type = key_type::bf16;
};
template <>
struct key_traits<::__half> {
  static constexpr key_type type = key_type::f16;
};
template <>
struct key_traits<::__nv_bfloat16> {
  static constexpr key_type type = key_type::bf16;
};

/// The direction of a sort. Floats have NaN last in both.
enum class direction : std::uint8_t { ascending, descending };

/// "ascending", "descending".
[[nodiscard]] std::string_view name(direction d) noexcept;

/// A type whose values can travel with keys.
template <class T>
concept sortable_value = std::is_trivially_copyable_v<T>;

/// An index type that argsort writes.
template <class T>
concept sort_index = std::integral<T> &&(sizeof(T) == 4 || sizeof(T) == 8) && !std::same_as<T, bool>;

/// Bytes of one key of `type`.
[[nodiscard]] std::size_t size_bytes(key_type type) noexcept;

/// "u8" ... "f64".
[[nodiscard]] std::string_view name(key_type type) noexcept;

/// The inverse of name(); takes NumPy's and DuckDB's names too (uint32, BIGINT). Throws invalid_argument for others.
[[nodiscard]] key_type parse_key_type(std::string_view text);

/// `num_keys` keys of a type known at run time, contiguous, aligned to their size.
struct key_span {
  key_type type;
  void* data;
  std::uint64_t num_keys;

  constexpr key_span(key_type t, void* d, std::uint64_t n) noexcept : type(t), data(d), num_keys(n) {}
};

/// Keys like those of key_span, to be read only.
struct const_key_span {
  key_type type;
  const void* data;
  std::uint64_t num_keys;

  const_key_span(key_type t, const void* d, std::uint64_t n) : type(t), data(d), num_keys(n) {}
  const_key_span(key_span keys) : type(keys.type), data(keys.data), num_keys(keys.num_keys) {}
};

template <radix_key K, std::size_t extent>
  requires(!std::is_const_v<K>)
[[nodiscard]] key_span as_key_span(std::span<K, extent> keys) noexcept {
  return {key_traits<K>::type, keys.data(), keys.size()};
}

template <radix_key K>
[[nodiscard]] const_key_span as_const_key_span(std::span<const K> keys) noexcept {
  return {key_traits<K>::type, keys.data(), keys.size()};
}

}  // namespace spansort
