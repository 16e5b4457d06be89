// SPDX-License-Identifier: Apache-2.0
// Settings are what the command line of spansort-bench says, for the suites that this program runs itself.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace bench {

struct settings {
  std::vector<std::string> figures;  ///< words of which a figure's name has one; empty: all
  std::vector<std::string> devices;  ///< device lists; empty: the CPU, and all GPUs where there are some
  unsigned max_log2_size = 30;
  double seconds = 0;            ///< begin no further case after this long; 0: no limit
  double contender_seconds = 2;  ///< no further repeat of a contender after this long, and no sort that takes longer
  unsigned repeats = 5;
  std::uint64_t seed = 1;
  std::string commit = "unknown";
  std::string notes;
  std::string json_file;
  std::string peers_file;
  std::vector<std::string> measured_files;  ///< results of earlier runs, whose cases are not run again
  bool is_dry_run = false;                  ///< print the cases, and run none
};

}  // namespace bench
