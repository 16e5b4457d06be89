// SPDX-License-Identifier: Apache-2.0
// A peer that is started for each sort: it reads a file, writes one, and says how long the sort took.
#include <fmt/format.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <spansort/errors.hpp>
#include <utility>

#include "bench/suites/peers/peers.hpp"

namespace bench {
namespace {

/// Returns the last line that a shell's command prints. Throws device_error where it fails.
std::string last_line_of(const std::string& command) {
  std::FILE* const pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) throw spansort::device_error("cannot start a shell for the peer");
  std::string line, last;
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) {
    if (c != '\n') {
      line += static_cast<char>(c);
      continue;
    }
    if (!line.empty()) last = std::exchange(line, "");
  }
  const int status = ::pclose(pipe);
  if (status == 0) return line.empty() ? last : line;
  throw spansort::device_error(WIFEXITED(status) ? fmt::format("the peer ended with status {}", WEXITSTATUS(status))
                                                 : "the peer was ended by a signal");
}

double parse_seconds(const std::string& line) {
  char* end = nullptr;
  const double seconds = std::strtod(line.c_str(), &end);
  if (end == line.c_str() || !(seconds >= 0)) {
    throw spansort::bad_input(fmt::format("the peer's last line is not a number of seconds: '{}'", line));
  }
  return seconds;
}

}  // namespace

contender once_contender(std::string command, const std::string& type, input& data) {
  if (data.num_arrays() > 1) throw spansort::invalid_argument("it would have to be started for each small sort");
  auto folder = std::make_shared<temporary_folder>();
  replace_all(command, "{input}", fmt::format("'{}'", folder->file("input")));
  replace_all(command, "{output}", fmt::format("'{}'", folder->file("output")));
  replace_all(command, "{type}", fmt::format("'{}'", type));
  write_input(folder->file("input"), data);
  contender made;
  made.prepare = [folder] { std::filesystem::remove(folder->file("output")); };
  made.run = [command] { return parse_seconds(last_line_of(command)); };
  made.fetch = [folder, &data] { read_output(folder->file("output"), data); };
  return made;
}

}  // namespace bench
