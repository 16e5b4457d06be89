// SPDX-License-Identifier: Apache-2.0
// This is for what every node rank begins by itself, cannot finish without the others, and may fail at alone: none of
// them then waits for one that has given up.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "transport/communicator.hpp"

namespace spansort::transport {

/// Collective, blocks. Calls `is_done`, which must not wait, again and again until it says so on every node rank:
/// returns "" on all then. When it has thrown on one, or `limit` has passed there, all stop, and get the same text:
/// which node rank, and why. The group can be used further. Throws cluster_failure.
[[nodiscard]] std::string finish_together(communicator& group, const std::function<bool()>& is_done,
                                          std::chrono::milliseconds limit);

}  // namespace spansort::transport
