// SPDX-License-Identifier: Apache-2.0
// These functions step from a key type that is known at run time to a template argument.
#pragma once

#include <cstdint>
#include <spansort/errors.hpp>
#include <spansort/types.hpp>

namespace bench {

/// Calls `f` with an unsigned word of that many bytes as template argument.
template <class F>
decltype(auto) with_key_bits(std::uint64_t bytes, F&& f) {
  switch (bytes) {
    case 1: return f.template operator()<std::uint8_t>();
    case 2: return f.template operator()<std::uint16_t>();
    case 4: return f.template operator()<std::uint32_t>();
    default: return f.template operator()<std::uint64_t>();
  }
}

/// Calls `f` with the C++ type of the keys as template argument. Throws where this compiler has none.
template <class F>
decltype(auto) with_key(spansort::key_type type, F&& f) {
  using spansort::key_type;
  switch (type) {
    case key_type::u8: return f.template operator()<std::uint8_t>();
    case key_type::u16: return f.template operator()<std::uint16_t>();
    case key_type::u32: return f.template operator()<std::uint32_t>();
    case key_type::u64: return f.template operator()<std::uint64_t>();
    case key_type::i32: return f.template operator()<std::int32_t>();
    case key_type::i64: return f.template operator()<std::int64_t>();
    case key_type::f32: return f.template operator()<float>();
    case key_type::f64: return f.template operator()<double>();
    default: throw spansort::invalid_argument("the baselines are not compiled for this type");
  }
}

}  // namespace bench
