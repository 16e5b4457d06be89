// SPDX-License-Identifier: Apache-2.0
// A candidate takes part in a case: Spansort's algorithms by their names, the libraries, and programs of others.
#pragma once

#include <chrono>
#include <ctime>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench/suites/figures.hpp"
#include "bench/suites/input.hpp"
#include "bench/suites/settings.hpp"

namespace bench {

/// The time that a sort took: by the wall clock and, where that is known, of all processors that the process had.
struct elapsed {
  elapsed(double wall) : wall_s(wall) {}  // NOLINT(google-explicit-constructor): most have nothing else
  elapsed(double wall, double cpu) : wall_s(wall), cpu_s(cpu) {}

  double wall_s;
  std::optional<double> cpu_s = {};
};

[[nodiscard]] inline double cpu_seconds() {
  std::timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Returns the time that `work` takes.
template <class Work>
[[nodiscard]] elapsed time_of(const Work& work) {
  using steady = std::chrono::steady_clock;
  const double cpu_begin = cpu_seconds();
  const auto begin = steady::now();
  work();
  const double wall = std::chrono::duration<double>(steady::now() - begin).count();
  return {wall, cpu_seconds() - cpu_begin};
}

/// One that is ready to sort an input again and again.
struct contender {
  std::function<void()> prepare;  ///< restores the input, untimed
  std::function<elapsed()> run;   ///< sorts all arrays, and returns the time that it took
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
  bool is_ours = false;
  bool is_one_thread = false;
  bool is_stable = false;  ///< equal keys keep their order, which is verified
};

/// The library's algorithms on the device lists.
[[nodiscard]] std::vector<candidate> our_candidates(const figure& of, const case_spec& spec,
                                                    const std::vector<std::string>& lists);
/// The library on the CPU as its users call it: by a sorter that is kept, and by the free functions.
[[nodiscard]] std::vector<candidate> our_calls();
/// GCC's parallel mode, oneTBB, the standard library, vqsort.
[[nodiscard]] std::vector<candidate> cpu_baselines();
/// The grid's baselines are those, and Boost and IPS4o where they are installed.
[[nodiscard]] std::vector<candidate> all_cpu_baselines();

/// All that take part in a case of a figure.
[[nodiscard]] std::vector<candidate> candidates_of(const figure& of, const case_spec& spec, const settings& s);

/// Returns the seconds that `work` takes.
[[nodiscard]] double seconds_of(const std::function<void()>& work);

}  // namespace bench
