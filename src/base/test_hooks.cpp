// SPDX-License-Identifier: Apache-2.0
#include "base/test_hooks.hpp"

namespace spansort::base {
namespace {

constexpr test_hooks no_hooks{};
thread_local const test_hooks* innermost = &no_hooks;
thread_local bool innermost_changes = false;  ///< anything

}  // namespace

const test_hooks& current_test_hooks() noexcept { return *innermost; }

bool has_test_hooks() noexcept { return innermost_changes; }

test_hooks_scope::test_hooks_scope(const test_hooks& hooks) noexcept
    : hooks_(hooks), outer_(innermost), outer_changes_(innermost_changes) {
  innermost = &hooks_;
  innermost_changes = !(hooks_ == no_hooks);
}

test_hooks_scope::~test_hooks_scope() {
  innermost = outer_;
  innermost_changes = outer_changes_;
}

}  // namespace spansort::base
