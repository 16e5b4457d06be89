// SPDX-License-Identifier: Apache-2.0
// This suite is what every communicator must give, computed from every process's numbers by a formula. A file that
// implements transport::communicator instantiates this suite with worlds made of it.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <ostream>
#include <string>

#include "transport/communicator.hpp"

namespace spansort::test {

/// Processes that a communicator connects.
struct communicator_world {
  std::string name;  ///< letters, digits and underscores
  /// Calls f() once for every process of the world that lives in this process of the system, all at the same time.
  std::function<void(const std::function<void(transport::communicator&)>& f)> run;
};
void PrintTo(const communicator_world& world, std::ostream* out);

class communicator_conformance : public testing::TestWithParam<communicator_world> {};

}  // namespace spansort::test
