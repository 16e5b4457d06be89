// SPDX-License-Identifier: Apache-2.0
// The one place where a run-time type becomes a template argument.
#pragma once

#include <cstdint>
#include <utility>

#include "base/assert.hpp"
#include "spansort/types.hpp"

namespace spansort::keys {

/// Calls `f.template operator()<K>()` with the unsigned integer of `width_bytes` 1, 2, 4 or 8.
template <class F>
decltype(auto) with_width(unsigned width_bytes, F&& f) {
  switch (width_bytes) {
    case 1: return std::forward<F>(f).template operator()<std::uint8_t>();
    case 2: return std::forward<F>(f).template operator()<std::uint16_t>();
    case 4: return std::forward<F>(f).template operator()<std::uint32_t>();
    default: break;
  }
  SPANSORT_ASSERT(width_bytes == 8);
  return std::forward<F>(f).template operator()<std::uint64_t>();
}

/// Calls `f.template operator()<T>()` with the C++ type of the keys: an integer, float, double, float16 or bfloat16.
template <class F>
decltype(auto) with_type(key_type type, F&& f) {
  switch (type) {
    case key_type::u8: return std::forward<F>(f).template operator()<std::uint8_t>();
    case key_type::i8: return std::forward<F>(f).template operator()<std::int8_t>();
    case key_type::u16: return std::forward<F>(f).template operator()<std::uint16_t>();
    case key_type::i16: return std::forward<F>(f).template operator()<std::int16_t>();
    case key_type::u32: return std::forward<F>(f).template operator()<std::uint32_t>();
    case key_type::i32: return std::forward<F>(f).template operator()<std::int32_t>();
    case key_type::u64: return std::forward<F>(f).template operator()<std::uint64_t>();
    case key_type::i64: return std::forward<F>(f).template operator()<std::int64_t>();
    case key_type::f16: return std::forward<F>(f).template operator()<float16>();
    case key_type::bf16: return std::forward<F>(f).template operator()<bfloat16>();
    case key_type::f32: return std::forward<F>(f).template operator()<float>();
    case key_type::f64: break;
  }
  SPANSORT_ASSERT(type == key_type::f64);
  return std::forward<F>(f).template operator()<double>();
}

}  // namespace spansort::keys
