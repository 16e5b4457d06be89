// SPDX-License-Identifier: Apache-2.0
// This header is for what is said of work that is done already, as reports are: where memory lacks for that, it is left
// unsaid. The work must not look as if it had failed.
#pragma once

#include <new>
#include <utility>

namespace spansort::base {

/// Calls `tell`, and lets it end where memory does.
template <class Tell>
void say_of_done(Tell&& tell) {
  try {
    std::forward<Tell>(tell)();
  } catch (const std::bad_alloc&) {
  }
}

}  // namespace spansort::base
