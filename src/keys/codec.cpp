// SPDX-License-Identifier: Apache-2.0
#include "keys/codec.hpp"

#include "keys/dispatch.hpp"

namespace spansort::keys {

key_codec key_codec::of_encoded(unsigned width_bytes) noexcept {
  switch (width_bytes) {
    case 1: return {.type = key_type::u8};
    case 2: return {.type = key_type::u16};
    case 4: return {.type = key_type::u32};
    default: return {.type = key_type::u64};
  }
}

bool key_codec::is_bijective() const noexcept { return ties == tie_rule::by_bits || !is_float(type); }

std::uint64_t encode_at(const key_codec& codec, const void* keys, std::uint64_t index) noexcept {
  return with_width(codec.width_bytes(), [&]<class K>() -> std::uint64_t {
    return codec.of<K>().encode(static_cast<const K*>(keys)[index]);
  });
}

}  // namespace spansort::keys
