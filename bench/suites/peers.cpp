// SPDX-License-Identifier: Apache-2.0
// Programs that are no packages, described by a JSON file: [{"name": ..., "command": ..., "types": [...]}]. The
// protocol stands in CONTRIBUTING.md.
#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <spansort/devices.hpp>
#include <spansort/errors.hpp>

#include "bench/suites/candidate.hpp"
#include "bench/suites/results_file.hpp"

namespace bench {
namespace {

using json = nlohmann::ordered_json;
namespace fs = std::filesystem;

/// A folder that is removed with what is in it.
class temporary_folder {
 public:
  temporary_folder() {
    std::string pattern = (fs::temp_directory_path() / "spansort-peer-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw spansort::io_error("cannot make a folder for a peer", errno);
    path_ = pattern;
  }
  ~temporary_folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  temporary_folder(const temporary_folder&) = delete;
  temporary_folder& operator=(const temporary_folder&) = delete;
  [[nodiscard]] std::string file(const char* name) const { return (path_ / name).string(); }

 private:
  fs::path path_;
};

void replace_all(std::string& text, const std::string& what, const std::string& by) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size())) {
    text.replace(at, what.size(), by);
  }
}

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
    throw spansort::bad_input("the peer's last line is not a number of seconds: '" + line + "'");
  }
  return seconds;
}

contender peer_contender(std::string command, const std::string& type, input& data) {
  auto folder = std::make_shared<temporary_folder>();
  replace_all(command, "{input}", "'" + folder->file("input") + "'");
  replace_all(command, "{output}", "'" + folder->file("output") + "'");
  replace_all(command, "{type}", "'" + type + "'");
  replace_all(command, "{threads}", std::to_string(spansort::num_processors()));
  const auto size_bytes = static_cast<std::streamsize>(data.size_bytes());
  std::ofstream file(folder->file("input"), std::ios::binary);
  if (!file.write(static_cast<const char*>(data.original()), size_bytes).flush()) {
    throw spansort::io_error("cannot write the peer's input", errno);
  }
  contender made;
  made.prepare = [folder] { fs::remove(folder->file("output")); };
  made.run = [command] { return parse_seconds(last_line_of(command)); };
  made.fetch = [folder, size_bytes, &data] {
    const std::string output = folder->file("output");
    std::error_code failure;
    if (fs::file_size(output, failure) != data.size_bytes() || failure) {
      throw spansort::bad_input("the peer's output is missing or not as long as its input");
    }
    std::ifstream(output, std::ios::binary).read(static_cast<char*>(data.work()), size_bytes);
  };
  return made;
}

}  // namespace

std::vector<candidate> peer_candidates(const std::string& peers_file, const case_spec& spec) {
  std::vector<candidate> found;
  try {
    for (const json& peer : read_json(peers_file)) {
      const auto types = peer.at("types").get<std::vector<std::string>>();
      const std::string command = peer.at("command");
      const bool can_sort = std::ranges::find(types, spec.type) != types.end();
      found.push_back({peer.at("name"), "peer", "file", [=](input& data) {
                         if (!can_sort) throw spansort::invalid_argument("its description does not name this type");
                         return peer_contender(command, spec.type, data);
                       }});
    }
  } catch (const json::exception& e) {
    throw spansort::bad_input(peers_file + ": " + message_of(e));
  }
  return found;
}

}  // namespace bench
