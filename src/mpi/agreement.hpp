// SPDX-License-Identifier: Apache-2.0
// This header says what all node ranks must see alike before work begins: the same settings, and that each of them can
// begin.
#pragma once

#include <exception>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "transport/communicator.hpp"

namespace spansort::mpi {

/// Returns the bits of the number as text: what looks alike may not be.
[[nodiscard]] std::string exactly(double number);

/// A setting that must be the same on all node ranks.
struct setting {
  std::string_view name;
  std::string value;
};

/// Returns what differs and where, the same text on all node ranks; "" when all have the same settings. Compares
/// hashes; the settings themselves travel only when those differ.
[[nodiscard]] std::string differences_of(transport::communicator& group, const std::vector<setting>& settings);

/// Calls f() on every node rank; true where it returned on all. Elsewhere the exception is kept in `failure`, and on
/// all others a cluster_failure with its message. `phase`: what f does, half a sentence.
[[nodiscard]] bool try_together(transport::communicator& group, std::string_view phase, const std::function<void()>& f,
                                std::exception_ptr& failure);

}  // namespace spansort::mpi
