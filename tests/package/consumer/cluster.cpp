// SPDX-License-Identifier: Apache-2.0
// Uses the component mpi of the installed library as a program would, on as many node ranks as it is started with.
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <spansort/mpi.hpp>
#include <spansort/version.hpp>
#include <vector>

int main(int argc, char** argv) {
  if (MPI_Init(&argc, &argv) != MPI_SUCCESS) return 1;
  std::vector<double> keys{3, 1, 2};
  spansort::mpi::sort(keys, MPI_COMM_WORLD);
  const std::vector<double> q{0.5};
  const double median = spansort::mpi::quantiles(keys, q, MPI_COMM_WORLD).front();
  MPI_Finalize();
  std::printf("Spansort %s: the median is %g\n", SPANSORT_VERSION, median);
  return std::is_sorted(keys.begin(), keys.end()) && median == 2 ? 0 : 1;
}
