// SPDX-License-Identifier: Apache-2.0
// The way from spansort to spansort-mpi, a program of its own, so that the command needs no MPI where it is not used.
#pragma once

namespace cli {

/// Returns whether --mpi is among the arguments.
[[nodiscard]] bool wants_mpi(int argc, char** argv);

/// Replaces this process by the program spansort-mpi of the same folder, with the same arguments. Returns only where
/// that cannot be, with exit status 2 after a message, of which a program under mpirun prints one.
int start_mpi_program(char** argv);

}  // namespace cli
