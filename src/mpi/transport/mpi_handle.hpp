// SPDX-License-Identifier: Apache-2.0
// The one header of this room that shows MPI's types: groups are made from communicators here.
#pragma once

#include <mpi.h>

#include <memory>

#include "mpi/transport/node_group.hpp"

namespace spansort::transport {

/// Collective over `communicator`, which is left as it is: the group works on a duplicate, whose errors are returned to
/// it instead of ending the process. Blocks until all node ranks have called it. Throws invalid_argument when MPI is
/// not initialised, or finalised, or `communicator` is null or an intercommunicator; cluster_failure on all node ranks
/// when one cannot connect to node rank 0.
[[nodiscard]] std::unique_ptr<node_group> make_node_group(MPI_Comm communicator, const group_options& options = {});

}  // namespace spansort::transport
