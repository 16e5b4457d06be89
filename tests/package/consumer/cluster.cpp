// SPDX-License-Identifier: Apache-2.0
// Links the component mpi of the installed library, and starts MPI as a program that uses it would.
#include <mpi.h>

#include <cstdio>

#include <spansort/spansort.hpp>

int main(int argc, char** argv) {
  if (MPI_Init(&argc, &argv) != MPI_SUCCESS) return 1;
  int num_nodes = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &num_nodes);
  std::printf("Spansort %s on %d node ranks\n", SPANSORT_VERSION, num_nodes);
  MPI_Finalize();
  return num_nodes == 1 ? 0 : 1;
}
