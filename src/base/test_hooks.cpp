// SPDX-License-Identifier: Apache-2.0
#include "base/test_hooks.hpp"

namespace spansort::base {
namespace {

constexpr test_hooks no_hooks{};
thread_local const test_hooks* innermost = &no_hooks;

}  // namespace

const test_hooks& current_test_hooks() noexcept { return *innermost; }

test_hooks_scope::test_hooks_scope(const test_hooks& hooks) noexcept : hooks_(hooks), outer_(innermost) {
  innermost = &hooks_;
}

test_hooks_scope::~test_hooks_scope() { innermost = outer_; }

}  // namespace spansort::base
