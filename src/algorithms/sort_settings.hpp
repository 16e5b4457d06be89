// SPDX-License-Identifier: Apache-2.0
// Settings are what a sort has been asked for: the caller's options, and what a test changes about it.
#pragma once

#include <utility>

#include "base/test_hooks.hpp"
#include "spansort/options.hpp"

namespace spansort::algorithms {

struct sort_settings : spansort::sort_options {
  base::test_hooks hooks;
};

/// Returns the caller's options with the hooks of the calling thread.
[[nodiscard]] inline sort_settings settings_of(spansort::sort_options options) {
  return {std::move(options), base::current_test_hooks()};
}

}  // namespace spansort::algorithms
