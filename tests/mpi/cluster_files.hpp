// SPDX-License-Identifier: Apache-2.0
// Files that all node ranks of a test see.
#pragma once

#include <mpi.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <spansort/files.hpp>
#include <string>

#include "cluster_case.hpp"

namespace spansort::test {

/// A file that node rank 0 makes and removes; the others get its name.
class shared_file {
 public:
  explicit shared_file(std::uint64_t num_keys) {
    int pid = ::getpid();
    MPI_Bcast(&pid, 1, MPI_INT, 0, MPI_COMM_WORLD);
    path = (std::filesystem::temp_directory_path() / ("spansort-shares-" + std::to_string(pid) + ".npy")).string();
    if (world_rank() == 0) generate_file(path, key_type::f64, num_keys, {}, 3);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  ~shared_file() {
    MPI_Barrier(MPI_COMM_WORLD);
    if (world_rank() == 0) std::filesystem::remove(path);
  }
  shared_file(const shared_file&) = delete;
  shared_file& operator=(const shared_file&) = delete;

  std::string path;
};

inline std::string contents_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace spansort::test
