// SPDX-License-Identifier: Apache-2.0
// All processes of the program, from MPI_Init to MPI_Finalize, and what they tell each other outside of a session.
#pragma once

#include <string>
#include <vector>

namespace cli {

class mpi_world {
 public:
  /// MPI_Init. Throws cluster_failure.
  mpi_world(int& argc, char**& argv);
  mpi_world(const mpi_world&) = delete;
  mpi_world& operator=(const mpi_world&) = delete;

  [[nodiscard]] unsigned node_rank() const noexcept { return node_rank_; }
  [[nodiscard]] unsigned num_nodes() const noexcept { return num_nodes_; }

  /// Collective: whether all gave the same text. Their hashes travel.
  [[nodiscard]] bool is_same(const std::string& text) const;
  /// Collective: what all gave, by node rank.
  [[nodiscard]] std::vector<std::string> gather(const std::string& mine) const;

  /// MPI_Finalize, which waits for all.
  void finalize() const;

 private:
  unsigned node_rank_ = 0;
  unsigned num_nodes_ = 1;
};

}  // namespace cli
