// SPDX-License-Identifier: Apache-2.0
// Runs cases one after the other and keeps the JSON file. The file is written anew after every case and names every
// case that it does not hold, so that a run that ends early, by its own budget or somebody else's, says what is
// missing.
#pragma once

#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/gpu/settings.hpp"

namespace bench {

using json = nlohmann::ordered_json;

/// What a case found.
struct outcome {
  json fields;       ///< of the case's JSON object, all runs among them
  std::string line;  ///< what a person wants to see at once
  bool verified = true;
};

struct bench_case {
  std::string suite;
  std::string name;
  std::function<outcome()> measure;
};

class case_runner {
 public:
  /// `settings` outlives the runner. Time counts from here.
  case_runner(const settings& s, json meta);

  /// Runs the cases, each released when it is done. Returns the program's exit status: 0, 5 when a case could not run,
  /// 8 when a result was wrong.
  int run(std::vector<bench_case> cases);

 private:
  /// The cases from `next` on are still to come.
  void write(const std::vector<bench_case>& cases, std::size_t next);
  void run_case(const bench_case& c);
  [[nodiscard]] double elapsed_seconds() const;

  const settings& settings_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  json meta_;
  json cases_ = json::array();
  json left_out_ = json::array();
  int exit_status_ = 0;
};

}  // namespace bench
