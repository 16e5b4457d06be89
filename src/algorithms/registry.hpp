// SPDX-License-Identifier: Apache-2.0
// The algorithms by name, with all that callers need to know of one. A new one is a driver file, which describes it by
// an entry, and the entry's name in the list of registry.cpp. Nobody else compares names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "algorithms/run_context.hpp"
#include "base/memory_formula.hpp"

namespace spansort::algorithms {

/// Traits say what an algorithm can do. The defaults are those of the simplest driver.
struct traits {
  bool uses_all_devices = false;       ///< else the first of the list alone
  bool runs_inline = false;            ///< few keys may be sorted on the calling thread instead of the devices
  bool takes_resident = false;         ///< sorts what lies on the devices already
  bool takes_other_processes = false;  ///< sorts a problem of which other processes hold parts
  bool sorts_in_parts = false;         ///< sorts in parts what does not fit in the devices' memory
  bool awaits_records = false;         ///< waits for records where a flow brings them; else they are there before
  unsigned num_copies = 1;             ///< workspace, in copies of the data; slack and parts come on top
};

/// This gives, for an algorithm that keeps more than copies of the data, what that takes of host memory on
/// `num_devices` host devices for records of `record_bytes`.
using host_memory_rule = base::memory_formula (*)(std::uint64_t num_devices, std::uint64_t record_bytes);

struct entry;

/// An algorithm, the workspace that it needs for a problem, and why it is the one.
struct choice {
  const entry* algorithm = nullptr;
  std::vector<slot_request> workspace = {};
  std::string why = {};  ///< empty where it was asked for
};

/// Chooses another algorithm for a problem and devices that are open.
using choice_rule = choice (*)(const std::vector<rank>& ranks, const sort_settings& options, const problem& sort);

struct entry {
  std::string_view name;
  std::string_view description;  ///< a few words for a help text
  traits is;
  driver run = nullptr;
  workspace_rule workspace = nullptr;
  host_memory_rule other_host_memory = nullptr;
  choice_rule choose = nullptr;  ///< in place of the three above: this one sorts by choosing another
};

/// All that can be asked for, in the order of a help text.
[[nodiscard]] const std::vector<const entry*>& all_algorithms();

/// Throws invalid_argument listing what is known.
[[nodiscard]] const entry& find_algorithm(std::string_view name);

/// Makes an algorithm known as long as this stands; the last to come is the first to go. Tests add theirs so, while no
/// other thread makes a sorter.
class added_algorithm {
 public:
  explicit added_algorithm(const entry& algorithm);  ///< `algorithm` stays where it is
  ~added_algorithm();
  added_algorithm(const added_algorithm&) = delete;
  added_algorithm& operator=(const added_algorithm&) = delete;
};

/// The one decision which algorithm sorts a problem on open devices: what was asked for, or what that chooses. Throws
/// invalid_argument where it cannot sort such a problem, and what a workspace rule throws.
[[nodiscard]] choice choose(const entry& asked_for, const std::vector<rank>& ranks, const sort_settings& options,
                            const problem& sort);

}  // namespace spansort::algorithms
