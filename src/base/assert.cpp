// SPDX-License-Identifier: Apache-2.0
#include "base/assert.hpp"

#include <string>

#include "spansort/errors.hpp"

namespace spansort::base {

void assertion_failed(const char* condition, const char* file, int line) {
  throw internal_error(std::string("internal error: ") + condition + " at " + file + ":" + std::to_string(line) +
                       "; please report it with the command that led here");
}

}  // namespace spansort::base
