// SPDX-License-Identifier: Apache-2.0
// The papers' figures and tables as cases to run, and the grid of the CPU.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace bench {

/// One input.
struct case_spec {
  std::string type;          ///< "u32", "u32(u32)", "argsort(u32)": the order as indices of 64 bits ...
  std::string distribution;  ///< as `spansort gen` knows them, and those of fill_keys()
  std::uint64_t num_keys = 0;
  unsigned radix_bits = 0;                ///< of tuning_options; 0: the default
  std::uint64_t device_memory_bytes = 0;  ///< ceiling on the workspace of each device; 0: what it has
  /// 0: what a figure needs first; where time ends, cases of the largest level are missing.
  unsigned level = 0;
  /// Arrays of so many keys each, with keys of their own, that are sorted one after the other: a clock's reading costs
  /// as much as a small sort, and a processor learns an input that it meets again and again.
  std::uint64_t num_arrays = 1;

  /// Returns whether both are the same input, sorted under the same terms.
  [[nodiscard]] bool is_like(const case_spec& other) const {
    return type == other.type && distribution == other.distribution && num_keys == other.num_keys &&
           radix_bits == other.radix_bits && device_memory_bytes == other.device_memory_bytes &&
           num_arrays == other.num_arrays;
  }
};

/// The content of a figure beside times, in rising order: a report that has phases has the memory too.
enum class detail : std::uint8_t { none, memory, phases };

struct figure {
  std::string suite;   ///< "papers", "multi-gpu", "cpu"
  std::string name;    ///< "satish-fig3-4"
  std::string source;  ///< "Satish, Harris and Garland 2009, figures 3 and 4"
  std::vector<std::string> algorithms;
  bool spans_devices = false;         ///< host to host, over 1, 2, 4 ... devices of each list; else on one device
  bool with_baselines = false;        ///< and with peers
  bool with_cpu = false;              ///< on the CPU too where only GPUs are named
  detail shows = detail::none;        ///< what the reports of the library's sorts add
  std::vector<case_spec> cases = {};  ///< smaller ones first
};

/// The part of the grid that is wanted; what is empty stands for all.
struct grid_part {
  std::vector<std::string> types;
  std::vector<std::string> distributions;
  std::vector<unsigned> log2_sizes;
  unsigned max_log2_size = 27;
};
/// The grid of the CPU: a figure a type and operation, with all sizes and distributions.
[[nodiscard]] std::vector<figure> grid_figures(const grid_part& part);

/// All figures of a suite with inputs of at most 2^max_log2_size keys.
[[nodiscard]] std::vector<figure> figures_of(const std::string& suite, unsigned max_log2_size);

}  // namespace bench
