// SPDX-License-Identifier: Apache-2.0
// Programs that are no packages, described by JSON files: [{"name": ..., "command": ..., "types": [...]}]. The
// protocols stand in CONTRIBUTING.md.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bench/suites/candidate.hpp"

namespace bench {

struct peer_description {
  std::string name;
  std::string command;  ///< for a shell, with the words in braces replaced that are alike for all inputs
  std::vector<std::string> types;
  bool is_session = false;  ///< it is started once, and is told by lines what to do
};

class peer_session;

/// The peers of all files, and the sessions of those that have been started.
class peer_pool {
 public:
  /// Throws spansort::error for files that hold no descriptions.
  explicit peer_pool(const std::vector<std::string>& files);
  ~peer_pool();
  peer_pool(const peer_pool&) = delete;
  peer_pool& operator=(const peer_pool&) = delete;

  [[nodiscard]] std::vector<candidate> candidates(const case_spec& spec);
  [[nodiscard]] std::size_t num_peers() const { return peers_.size(); }

 private:
  [[nodiscard]] contender contender_of(const peer_description& peer, const std::string& type, input& data);

  std::vector<peer_description> peers_;
  std::map<std::string, std::shared_ptr<peer_session>> sessions_;  ///< by the name of the peer
};

void replace_all(std::string& text, const std::string& what, const std::string& by);

/// A folder that is removed with what is in it, in memory where the system has such a file system.
class temporary_folder {
 public:
  temporary_folder();
  ~temporary_folder();
  temporary_folder(const temporary_folder&) = delete;
  temporary_folder& operator=(const temporary_folder&) = delete;
  [[nodiscard]] std::string file(const char* name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

void write_input(const std::string& file, const input& data);
/// Reads into the work arrays of `data` what a peer has written: keys and values, of an argsort the indices.
void read_output(const std::string& file, input& data);

/// A peer that is started for each sort.
[[nodiscard]] contender once_contender(std::string command, const std::string& type, input& data);
/// A peer that runs already.
[[nodiscard]] contender session_contender(const std::shared_ptr<peer_session>& session, const std::string& type,
                                          input& data);
/// Starts a peer. Throws device_error where that fails.
[[nodiscard]] std::shared_ptr<peer_session> start_session(const std::string& command);
/// Returns whether it has ended, or has not answered.
[[nodiscard]] bool has_failed(const peer_session& session);

}  // namespace bench
