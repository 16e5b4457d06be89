// SPDX-License-Identifier: Apache-2.0
// All that take part in a case sort the same input, in turns, and every result is verified.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/suites/candidate.hpp"

namespace bench {

class race_runner {
 public:
  explicit race_runner(const settings& s) : settings_(s) {}

  /// Returns the case's JSON object: its input, and of every candidate its runs or the reason why there are none.
  [[nodiscard]] nlohmann::ordered_json run(const figure& of, const case_spec& spec,
                                           const std::vector<candidate>& candidates);
  [[nodiscard]] bool all_verified() const { return all_verified_; }

 private:
  struct lane;
  [[nodiscard]] std::vector<lane> lanes_of(const figure& of, const case_spec& spec,
                                           const std::vector<candidate>& candidates) const;
  void remember_if_slow(const figure& of, const case_spec& spec, const lane& l);
  void take_turn(lane& of, unsigned round, bool keeps, input& data) const;
  nlohmann::ordered_json result_of(lane& from, input& data);

  const settings& settings_;
  /// Who took longer than a contender may, and on how many keys: larger cases leave it out.
  std::map<std::string, std::string> too_slow_;
  bool all_verified_ = true;
};

}  // namespace bench
