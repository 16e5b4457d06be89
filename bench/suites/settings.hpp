// SPDX-License-Identifier: Apache-2.0
// Settings are what the command line of spansort-bench says, for the suites that this program runs itself.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace bench {

class peer_pool;

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
  std::vector<std::string> peers_files;
  std::vector<std::string> measured_files;  ///< results of earlier runs, whose cases are not run again
  bool is_dry_run = false;                  ///< print the cases, and run none

  // The settings below are of suite cpu alone.
  bool is_grid = false;            ///< thousands of cases, most of them short
  std::vector<std::string> types;  ///< empty: all, as for those below
  std::vector<std::string> distributions;
  std::vector<unsigned> log2_sizes;
  std::vector<std::string> contenders;  ///< words of which a contender's name has one
  unsigned threads = 0;                 ///< processors that all may use; 0: those that this process may use

  std::shared_ptr<peer_pool> peers = {};  ///< of `peers_files`; null: none
};

}  // namespace bench
