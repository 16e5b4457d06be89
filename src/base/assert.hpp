// SPDX-License-Identifier: Apache-2.0
// SPANSORT_ASSERT: internal mistakes only, unreachable from user input; active in every build (checks are per phase or
// per bucket, never per key).
#pragma once

namespace spansort::base {
/// Throws internal_error naming the condition and where it stands.
[[noreturn]] void assertion_failed(const char* condition, const char* file, int line);
}  // namespace spansort::base

#define SPANSORT_ASSERT(condition) \
  ((condition) ? static_cast<void>(0) : ::spansort::base::assertion_failed(#condition, __FILE__, __LINE__))
