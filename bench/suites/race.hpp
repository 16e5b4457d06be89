// SPDX-License-Identifier: Apache-2.0
// All that take part in a case sort the same input, in turns, and of each a result is verified.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/suites/candidate.hpp"

namespace bench {

/// Seconds of a whole run, by what they went into.
struct time_spent {
  double generate_s = 0, make_s = 0, prepare_s = 0, sort_s = 0, verify_s = 0, report_s = 0;
};

class race_runner {
 public:
  explicit race_runner(const settings& s) : settings_(s) {}

  /// Returns the case's JSON object: its input, and of every candidate its runs or the reason why there are none.
  [[nodiscard]] nlohmann::ordered_json run(const case_spec& spec, const std::vector<candidate>& candidates);
  [[nodiscard]] bool all_verified() const { return all_verified_; }
  [[nodiscard]] const time_spent& spent() const { return spent_; }
  /// Returns the host memory that is kept for further inputs.
  [[nodiscard]] std::uint64_t held_bytes() const { return data_.held_bytes(); }

 private:
  struct lane;
  /// The largest input of a contender so far, and how long it took.
  struct pace {
    std::uint64_t num_keys = 0;
    double seconds = 0;
    double behind = 1;  ///< how many times the best peer's time that was
  };
  [[nodiscard]] std::vector<lane> lanes_of(const case_spec& spec, const std::vector<candidate>& candidates) const;
  void race_in_turns(std::vector<lane>& lanes);
  void race_alone(lane& of);
  [[nodiscard]] unsigned most_repeats() const;
  [[nodiscard]] bool wants_turn(const lane& of, double best_peer_ms) const;
  void take_turn(lane& of, double best_peer_ms);
  void verify(lane& of);
  [[nodiscard]] std::string why_left_out(const case_spec& spec, const candidate& who) const;
  void remember_paces(const case_spec& spec, const std::vector<lane>& lanes);
  void print_grid_case(const case_spec& spec, const std::vector<lane>& lanes) const;
  nlohmann::ordered_json result_of(lane& from);

  const settings& settings_;
  input data_;
  std::map<std::string, pace> paces_;
  time_spent spent_;
  bool all_verified_ = true;
};

}  // namespace bench
