// SPDX-License-Identifier: Apache-2.0
#include "bench/gpu/case_runner.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <spansort/files.hpp>

namespace bench {

case_runner::case_runner(const settings& s, json meta) : settings_(s), meta_(std::move(meta)) {}

double case_runner::elapsed_seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
}

int case_runner::run(std::vector<bench_case> cases) {
  for (std::size_t i = 0; i < cases.size(); ++i) {
    write(cases, i);
    if (settings_.seconds > 0 && elapsed_seconds() >= settings_.seconds) {
      left_out_.push_back({{"suite", cases[i].suite}, {"name", cases[i].name}, {"reason", "the time was up"}});
    } else {
      run_case(cases[i]);
    }
    cases[i].measure = {};  // arrays that no later case shares go now
  }
  write(cases, cases.size());
  for (const json& missing : left_out_) {
    fmt::print("left out: {} {}: {}\n", missing["suite"].get<std::string>(), missing["name"].get<std::string>(),
               missing["reason"].get<std::string>());
  }
  return exit_status_;
}

void case_runner::run_case(const bench_case& c) {
  const double begin_seconds = elapsed_seconds();
  try {
    outcome found = c.measure();
    json fields = {{"suite", c.suite}, {"name", c.name}, {"verified", found.verified}};
    fields.update(found.fields);
    fields["case_seconds"] = elapsed_seconds() - begin_seconds;
    cases_.push_back(std::move(fields));
    if (!found.verified) exit_status_ = 8;
    fmt::print("{:5.0f} s  {:<13} {:<34} {}{}\n", elapsed_seconds(), c.suite, c.name, found.line,
               found.verified ? "" : "  WRONG RESULT");
  } catch (const std::exception& e) {
    left_out_.push_back({{"suite", c.suite}, {"name", c.name}, {"reason", e.what()}});
    if (exit_status_ == 0) exit_status_ = 5;
    fmt::print("{:5.0f} s  {:<13} {:<34} FAILED: {}\n", elapsed_seconds(), c.suite, c.name, e.what());
  }
  std::fflush(stdout);
}

void case_runner::write(const std::vector<bench_case>& cases, std::size_t next) {
  if (settings_.json_file.empty()) return;
  json left_out = left_out_;
  for (std::size_t i = next; i < cases.size(); ++i) {
    left_out.push_back({{"suite", cases[i].suite}, {"name", cases[i].name}, {"reason", "not reached"}});
  }
  json document = {{"meta", meta_}, {"cases", cases_}, {"left_out", std::move(left_out)}};
  document["meta"]["elapsed_seconds"] = elapsed_seconds();
  spansort::write_file(settings_.json_file, document.dump(1) + "\n");
}

}  // namespace bench
