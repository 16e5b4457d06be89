// SPDX-License-Identifier: Apache-2.0
// The way from spansort to spansort-mpi, a program of its own, so that the command needs no MPI where it is not used.
#pragma once

#include <string>

#include "cli/commands.hpp"

namespace cli {

/// Returns whether --mpi is among the arguments.
[[nodiscard]] bool wants_mpi(int argc, char** argv);

/// Replaces this process by the program spansort-mpi of the same folder, with the same arguments. Returns only where
/// that cannot be, with exit status 2 after a message, of which a program under mpirun prints one.
int start_mpi_program(char** argv);

/// Returns what is wrong where mpirun or srun started several processes for a verb that sorts over all of them with
/// --mpi, and neither --mpi nor --no-mpi was given: each would do all the work, and write the same output. "" where
/// nothing is wrong.
[[nodiscard]] std::string why_not_alone(const CLI::App& app);

/// Returns whether this is the process that speaks for all that mpirun or srun started; true for one alone.
[[nodiscard]] bool is_first_rank();

}  // namespace cli
