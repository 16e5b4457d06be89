// SPDX-License-Identifier: Apache-2.0
// This header finds what a name stands for, with one sentence for a name that stands for nothing.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "spansort/errors.hpp"

namespace spansort::base {

/// Returns where the entry named `text` stands in `entries`. Throws invalid_argument where there is none:
/// "unknown {what} '{text}'; known: ...", with all names.
template <class Entries, class NameOf = std::identity>
[[nodiscard]] std::size_t find_name(const Entries& entries, std::string_view text, std::string_view what,
                                    const NameOf& name_of = {}) {
  std::string known;
  std::size_t at = 0;
  for (const auto& entry : entries) {
    const std::string_view name = std::invoke(name_of, entry);
    if (name == text) return at;
    known.append(at++ == 0 ? " " : ", ").append(name);
  }
  throw invalid_argument("unknown " + std::string(what) + " '" + std::string(text) + "'; known:" + known);
}

/// Returns the name of an enumerator, which may come from a cast.
template <class Names>
[[nodiscard]] std::string_view name_at(const Names& names, std::size_t at) noexcept {
  return at < names.size() ? std::string_view(names[at]) : "unknown";
}

}  // namespace spansort::base
