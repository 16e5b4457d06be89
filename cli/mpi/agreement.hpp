// SPDX-License-Identifier: Apache-2.0
// One end for all node ranks, and one message for what all of them have in common.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/mpi/world.hpp"
#include "cli/program.hpp"

namespace cli {

/// An argument that must be the same for all node ranks.
struct agreed_setting {
  std::string_view name;
  std::string value;
};

/// Collective. Status 2 and the differences on all node ranks where their settings differ; well otherwise.
[[nodiscard]] outcome compare_settings(const mpi_world& world, const std::vector<agreed_setting>& settings);

/// The end of one node rank's share in what all have done together.
struct node_outcome {
  outcome end;
  bool is_echo = false;  ///< of another's failure, which that one tells itself
};

/// Collective. The same for all: well if all are well; else the status of the first node rank with a failure of its
/// own, and the messages of all such, with their node ranks unless all say the same.
[[nodiscard]] outcome agree_on_outcome(const mpi_world& world, const node_outcome& mine);

}  // namespace cli
