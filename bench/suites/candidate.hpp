// SPDX-License-Identifier: Apache-2.0
// A candidate takes part in a case: Spansort's algorithms by their names, the libraries, and programs of others.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "bench/suites/figures.hpp"
#include "bench/suites/input.hpp"
#include "bench/suites/settings.hpp"

namespace bench {

/// One that is ready to sort an input again and again.
struct contender {
  std::function<void()> prepare;  ///< restores the input, untimed
  std::function<double()> run;    ///< sorts, and returns the seconds that it took
  std::function<void()> fetch;    ///< brings the result into the input's work arrays, untimed
};

/// One that may take part.
struct candidate {
  std::string name;     ///< "satish_radix", "cub"
  std::string devices;  ///< "cpu", "gpu:0,1"
  std::string data;     ///< where the records lie before and after: "host", "resident" (on the GPU), "file"
  /// Makes it ready for an input. Throws spansort::error where it cannot sort it.
  std::function<contender(input&)> make;
  /// Adds to the result what the report of one more sort says; null where there is none.
  std::function<void(nlohmann::ordered_json&, input&, detail)> describe = {};
  detail wanted = detail::none;  ///< what `describe` is asked for
};

/// The library's algorithms on the device lists.
[[nodiscard]] std::vector<candidate> our_candidates(const figure& of, const case_spec& spec,
                                                    const std::vector<std::string>& lists);
/// GCC's parallel mode, oneTBB, the standard library, vqsort.
[[nodiscard]] std::vector<candidate> cpu_baselines();
/// Programs described by a file.
[[nodiscard]] std::vector<candidate> peer_candidates(const std::string& peers_file, const case_spec& spec);

/// All that take part in a case of a figure.
[[nodiscard]] std::vector<candidate> candidates_of(const figure& of, const case_spec& spec, const settings& s);

/// Returns the seconds that `work` takes.
[[nodiscard]] double seconds_of(const std::function<void()>& work);

}  // namespace bench
