// SPDX-License-Identifier: Apache-2.0
#include "keys/known_type.hpp"

#include <string>

#include "spansort/errors.hpp"

namespace spansort::keys {

void throw_unknown_type(key_type type) {
  throw invalid_argument("key type " + std::to_string(static_cast<unsigned>(type)) + " is none of those there are");
}

}  // namespace spansort::keys
