// SPDX-License-Identifier: Apache-2.0
// This header refuses key types that there are not: callers may have cast a number from elsewhere.
#pragma once

#include "spansort/types.hpp"

namespace spansort::keys {

[[noreturn]] void throw_unknown_type(key_type type);

/// Throws invalid_argument where `type` is none of the enumerators.
inline void require_known(key_type type) {
  if (type > key_type::f64) throw_unknown_type(type);
}

}  // namespace spansort::keys
