// SPDX-License-Identifier: Apache-2.0
// Everything that the CPU benchmark races: Spansort and the sorts that distributions package.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "bench/cpu/pair_record.hpp"

namespace bench {

/// Sorts one input again and again. `prepare` (untimed) restores the input, `run` (timed) sorts it, `verify` (untimed)
/// says whether the result is in order and a permutation of the input.
struct contender {
  std::string name;
  bool is_stable = false;
  std::function<void()> prepare;
  std::function<void()> run;
  std::function<bool()> verify;
};

struct case_input {
  std::string type;  ///< "u32", "u64(u64)", ...
  std::string distribution;
  std::uint64_t num_keys = 0;
  std::uint64_t seed = 0;
};

/// Contenders for a case; their buffers live as long as they do. `with_peers` false: Spansort only.
[[nodiscard]] std::vector<contender> make_contenders(const case_input& input, bool with_peers);

}  // namespace bench
