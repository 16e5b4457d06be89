// SPDX-License-Identifier: Apache-2.0
#include "mpi/part_place.hpp"

#include <cstddef>
#include <vector>

namespace spansort::mpi {

part_place place_part(transport::communicator& group, std::uint64_t num_elements) {
  const std::vector<std::uint64_t> counts = group.all_gather({&num_elements, 1});
  part_place place;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (i < group.node_rank()) place.num_before += counts[i];
    place.num_all += counts[i];
  }
  return place;
}

}  // namespace spansort::mpi
