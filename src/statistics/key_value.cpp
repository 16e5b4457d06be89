// SPDX-License-Identifier: Apache-2.0
#include "statistics/key_value.hpp"

#include <cstring>

#include "keys/dispatch.hpp"
#include "keys/number.hpp"

namespace spansort::statistics {

double key_value(key_type type, std::uint64_t bits) noexcept {
  return keys::with_type(type, [&]<class T>() {
    T key;
    std::memcpy(&key, &bits, sizeof(T));  // little-endian, as keys are
    return keys::number_of(key);
  });
}

}  // namespace spansort::statistics
