// SPDX-License-Identifier: Apache-2.0
// Calls of a sorter that the library alone makes. Records may come and go while they are sorted: devices are opened and
// workspace is taken while the first of them arrive. Arrays may be the library's own, which nobody wants once the call
// is cancelled.
#pragma once

#include <cstdint>

#include "base/record_flow.hpp"
#include "spansort/sort.hpp"

namespace spansort::sorting {

struct flowing_calls {
  /// Says that what this sorter sorts from now on is thrown away when a call is cancelled: it can be, to its end.
  static void dispose(sorter& own);
  /// Says that this sorter is for one call: its devices and workspace may be those that the process keeps
  /// (kept_ranks.hpp).
  static void share_ranks(sorter& own);
  /// Sorts keys as sorter::sort() does, of which `flow` says when they are there. Throws that, too, and what the flow
  /// throws.
  static void sort(sorter& own, key_span keys, direction d, base::record_flow& flow);
  /// Writes 64-bit indices as sorter::argsort() does. The keys are there; `flow` is told of indices that are finished.
  static void argsort(sorter& own, const_key_span keys, void* indices, direction d, base::record_flow& flow);
};

}  // namespace spansort::sorting
