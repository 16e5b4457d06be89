// SPDX-License-Identifier: Apache-2.0
// This header says how a node rank ends when the others cannot end with it: without MPI_Finalize, which would wait for
// them, with its temporary file removed, and with a message and status of its own although mpirun sends SIGTERM to all
// as soon as one has died, and SIGKILL about a second later.
#pragma once

#include "cli/program.hpp"
#include "spansort/mpi.hpp"

namespace cli {

/// Has SIGTERM end the process, its temporary file removed, but only after 0.7 s: the time to learn which node rank
/// failed and to say so. Where it was ignored it stays so. Call this before any thread is started.
void delay_sigterm();

/// Does not return once SIGTERM has come: what has not been done by then is left undone.
void stay_if_terminated();

/// Message, and status 7.
[[noreturn]] void end_after_failure_of(const spansort::mpi::failure& failed, unsigned node_rank) noexcept;

/// A failure of this node rank's own: message, and its status.
[[noreturn]] void end_alone(const outcome& end, unsigned node_rank) noexcept;

}  // namespace cli
