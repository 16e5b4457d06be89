// SPDX-License-Identifier: Apache-2.0
#include "bench/suites/peers/peers.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <spansort/devices.hpp>
#include <spansort/errors.hpp>

#include "bench/suites/results_file.hpp"

namespace bench {
namespace {

using json = nlohmann::ordered_json;
namespace fs = std::filesystem;

peer_description description_of(const json& peer, const std::string& file) {
  peer_description made{.name = peer.at("name"), .command = peer.at("command"), .types = peer.at("types")};
  const std::string protocol = peer.value("protocol", "once");
  if (protocol != "once" && protocol != "session") {
    throw spansort::bad_input(file + ": unknown protocol '" + protocol + "'; known: once session");
  }
  made.is_session = protocol == "session";
  const char* const vectors = std::getenv("SPANSORT_VECTORS");
  replace_all(made.command, "{here}", fmt::format("'{}'", fs::absolute(file).parent_path().string()));
  replace_all(made.command, "{threads}", std::to_string(spansort::num_processors()));
  replace_all(made.command, "{vectors}", fmt::format("'{}'", vectors == nullptr ? "default" : vectors));
  return made;
}

}  // namespace

void replace_all(std::string& text, const std::string& what, const std::string& by) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size())) {
    text.replace(at, what.size(), by);
  }
}

temporary_folder::temporary_folder() {
  // Containers have little of it as a rule, and the largest inputs and outputs of the grid are of 2 GiB each.
  constexpr std::uint64_t enough_bytes = std::uint64_t{6} << 30;
  const fs::path in_memory = "/dev/shm";
  std::error_code failure;
  const fs::space_info space = fs::space(in_memory, failure);
  const bool is_there = !failure && space.available >= enough_bytes && ::access(in_memory.c_str(), W_OK) == 0;
  std::string pattern = ((is_there ? in_memory : fs::temp_directory_path()) / "spansort-peer-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) throw spansort::io_error("cannot make a folder for a peer", errno);
  path_ = pattern;
}

temporary_folder::~temporary_folder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

void write_input(const std::string& file, const input& data) {
  const std::uint64_t unwanted = data.is_argsort() ? data.value_bytes() * data.num_keys() * data.num_arrays() : 0;
  std::ofstream stream(file, std::ios::binary);
  const auto size_bytes = static_cast<std::streamsize>(data.size_bytes() - unwanted);
  if (!stream.write(static_cast<const char*>(data.original()), size_bytes).flush()) {
    throw spansort::io_error("cannot write the peer's input", errno);
  }
}

void read_output(const std::string& file, input& data) {
  void* const to = data.is_argsort() ? data.values_in(data.work()) : data.work();
  const std::uint64_t before = data.is_argsort() ? data.key_bytes() * data.num_keys() * data.num_arrays() : 0;
  const std::uint64_t wanted_bytes = data.size_bytes() - before;
  std::error_code failure;
  if (fs::file_size(file, failure) != wanted_bytes || failure) {
    throw spansort::bad_input("the peer's output is missing or not as long as its input");
  }
  std::ifstream(file, std::ios::binary).read(static_cast<char*>(to), static_cast<std::streamsize>(wanted_bytes));
}

peer_pool::peer_pool(const std::vector<std::string>& files) {
  for (const std::string& file : files) {
    try {
      for (const json& peer : read_json(file)) peers_.push_back(description_of(peer, file));
    } catch (const json::exception& e) {
      throw spansort::bad_input(file + ": " + message_of(e));
    }
  }
}

peer_pool::~peer_pool() = default;

contender peer_pool::contender_of(const peer_description& peer, const std::string& type, input& data) {
  if (!peer.is_session) return once_contender(peer.command, type, data);
  std::shared_ptr<peer_session>& session = sessions_[peer.name];
  if (!session || has_failed(*session)) session = start_session(peer.command);
  return session_contender(session, type, data);
}

std::vector<candidate> peer_pool::candidates(const case_spec& spec) {
  std::vector<candidate> found;
  for (const peer_description& peer : peers_) {
    const bool can_sort = std::ranges::find(peer.types, spec.type) != peer.types.end();
    found.push_back({peer.name, "peer", "file", [this, &peer, can_sort, type = spec.type](input& data) {
                       if (!can_sort) throw spansort::invalid_argument("its description does not name this type");
                       return contender_of(peer, type, data);
                     }});
  }
  return found;
}

}  // namespace bench
