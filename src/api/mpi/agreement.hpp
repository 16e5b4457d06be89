// SPDX-License-Identifier: Apache-2.0
// What all node ranks must see alike before work begins: the same settings, and that each of them can begin.
#pragma once

#include <exception>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "exchange/mpi/node_group.hpp"

namespace spansort::api {

/// A setting that must be the same on all node ranks.
struct setting {
  std::string_view name;
  std::string value;
};

/// Throws invalid_argument on all node ranks, naming what differs and where, unless all have the same settings. Compares
/// hashes; the settings themselves travel only when those differ.
void require_same(exchange::node_group& group, const std::vector<setting>& settings);

/// Calls f() on every node rank. Where it throws, the exception goes on, and all others throw cluster_failure with its
/// message. `phase`: what f does, half a sentence.
void try_together(exchange::node_group& group, std::string_view phase, const std::function<void()>& f);

}  // namespace spansort::api
