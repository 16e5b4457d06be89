// SPDX-License-Identifier: Apache-2.0
// This suite is what every transport must do: each transfer arrives once and at its place, nothing else is written. A
// file that implements transport::exchange instantiates this suite with worlds made of it, and is tested.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "transport/communicator.hpp"
#include "transport/exchange.hpp"

namespace spansort::test {

/// This is what one process of a world has.
struct exchange_process {
  transport::communicator& group;
  std::vector<device::device*> devices;  ///< of its ranks; processes may have different numbers of them
  transport::exchange& exchange;         ///< connects all ranks of all processes
};

/// Processes whose ranks a transport connects.
struct exchange_world {
  std::string name;  ///< letters, digits and underscores
  /// Calls f() once for every process of the world that lives in this process of the system, all at the same time.
  /// Returns why there is no such world on this machine, without a call; "" otherwise.
  std::function<std::string(const std::function<void(const exchange_process&)>& f)> run;
};
void PrintTo(const exchange_world& world, std::ostream* out);

class exchange_conformance : public testing::TestWithParam<exchange_world> {};

}  // namespace spansort::test
