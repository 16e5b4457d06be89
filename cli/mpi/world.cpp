// SPDX-License-Identifier: Apache-2.0
#include "cli/mpi/world.hpp"

#include <mpi.h>

#include <fmt/format.h>

#include <array>
#include <cstdint>

#include "spansort/errors.hpp"

namespace cli {
namespace {

/// MPI's default on MPI_COMM_WORLD is to end all processes where a call fails.
void check_mpi(int code, const char* call) {
  if (code != MPI_SUCCESS) throw spansort::cluster_failure(fmt::format("{} failed", call), -1, "");
}

/// FNV-1a, 64 bits: the same on every machine.
std::uint64_t hash_of(const std::string& text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

}  // namespace

mpi_world::mpi_world(int& argc, char**& argv) {
  // Other threads sort and read; the calling one alone calls MPI.
  int provided = MPI_THREAD_SINGLE;
  check_mpi(MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided), "MPI_Init_thread");
  int rank = 0;
  int size = 1;
  check_mpi(MPI_Comm_rank(MPI_COMM_WORLD, &rank), "MPI_Comm_rank");
  check_mpi(MPI_Comm_size(MPI_COMM_WORLD, &size), "MPI_Comm_size");
  node_rank_ = static_cast<unsigned>(rank);
  num_nodes_ = static_cast<unsigned>(size);
}

bool mpi_world::is_same(const std::string& text) const {
  const std::uint64_t hash = hash_of(text);
  // The least of the complements is the complement of the greatest.
  const std::array<std::uint64_t, 2> mine{hash, ~hash};
  std::array<std::uint64_t, 2> least{};
  check_mpi(MPI_Allreduce(mine.data(), least.data(), 2, MPI_UINT64_T, MPI_MIN, MPI_COMM_WORLD), "MPI_Allreduce");
  return least[0] == ~least[1];
}

std::vector<std::string> mpi_world::gather(const std::string& mine) const {
  // With all of them below 2^31 bytes, whatever anybody typed.
  constexpr int longest = 1 << 16;
  const int my_size = mine.size() < longest ? static_cast<int>(mine.size()) : longest;
  std::vector<int> sizes(num_nodes_);
  check_mpi(MPI_Allgather(&my_size, 1, MPI_INT, sizes.data(), 1, MPI_INT, MPI_COMM_WORLD), "MPI_Allgather");
  std::vector<int> offsets;
  int sum = 0;
  for (const int size : sizes) {
    offsets.push_back(sum);
    sum += size;
  }
  std::string all(static_cast<std::size_t>(sum), '\0');
  check_mpi(MPI_Allgatherv(mine.data(), my_size, MPI_CHAR, all.data(), sizes.data(), offsets.data(), MPI_CHAR,
                           MPI_COMM_WORLD),
            "MPI_Allgatherv");
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    texts.push_back(all.substr(static_cast<std::size_t>(offsets[i]), static_cast<std::size_t>(sizes[i])));
  }
  return texts;
}

void mpi_world::finalize() const { check_mpi(MPI_Finalize(), "MPI_Finalize"); }

}  // namespace cli
