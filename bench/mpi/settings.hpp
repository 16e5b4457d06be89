// SPDX-License-Identifier: Apache-2.0
// Settings are what the command line of the cluster's benchmark says.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace bench {

struct settings {
  std::vector<std::string> suites{"figure4", "figure5", "figure6", "figure7", "quartiles"};
  std::string devices = "cpu";  ///< of each node rank; "cpu": its share of the machine's processors
  unsigned log2_size = 24;      ///< pairs over all node ranks: figures 5 and 6, the most of figure 4
  unsigned log2_part = 21;      ///< pairs of each node rank in figure 7
  unsigned log2_keys = 26;      ///< over all node ranks, suite quartiles
  unsigned repeats = 5;
  std::uint64_t seed = 1;
  bool spoil = false;  ///< every result is corrupted before it is verified: for the test of the verification
  std::string json_file;
  std::string commit = "unknown";
};

}  // namespace bench
