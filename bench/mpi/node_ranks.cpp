// SPDX-License-Identifier: Apache-2.0
#include "bench/mpi/node_ranks.hpp"

#include <mpi.h>

namespace bench {

node_ranks::node_ranks() {
  int self = 0, count = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &self);
  MPI_Comm_size(MPI_COMM_WORLD, &count);
  self_ = static_cast<unsigned>(self);
  count_ = static_cast<unsigned>(count);
}

void node_ranks::barrier() const { MPI_Barrier(MPI_COMM_WORLD); }

double node_ranks::max(double mine) const {
  double most = mine;
  MPI_Allreduce(&mine, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return most;
}

bool node_ranks::all(bool mine) const {
  const int is_true = mine ? 1 : 0;
  int everywhere = 0;
  MPI_Allreduce(&is_true, &everywhere, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
  return everywhere != 0;
}

spansort::multiset_checksum node_ranks::sum(const spansort::multiset_checksum& mine) const {
  spansort::multiset_checksum total;
  MPI_Allreduce(mine.words.data(), total.words.data(), 2, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  return total;
}

std::vector<std::array<std::uint64_t, 5>> node_ranks::gather(const std::array<std::uint64_t, 5>& mine) const {
  std::vector<std::array<std::uint64_t, 5>> all(count_);
  MPI_Allgather(mine.data(), 5, MPI_UINT64_T, all.data(), 5, MPI_UINT64_T, MPI_COMM_WORLD);
  return all;
}

std::vector<std::string> node_ranks::gather(const std::string& mine) const {
  const int size = static_cast<int>(mine.size());
  std::vector<int> sizes(count_), begins(count_ + 1);
  MPI_Gather(&size, 1, MPI_INT, sizes.data(), 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (self_ == 0) {
    for (unsigned r = 0; r < count_; ++r) begins[r + 1] = begins[r] + sizes[r];
  }
  std::string all(static_cast<std::size_t>(begins[count_]), ' ');
  MPI_Gatherv(mine.data(), size, MPI_CHAR, all.data(), sizes.data(), begins.data(), MPI_CHAR, 0, MPI_COMM_WORLD);
  std::vector<std::string> texts;
  for (unsigned r = 0; self_ == 0 && r < count_; ++r) {
    texts.push_back(all.substr(static_cast<std::size_t>(begins[r]), static_cast<std::size_t>(sizes[r])));
  }
  return texts;
}

}  // namespace bench
