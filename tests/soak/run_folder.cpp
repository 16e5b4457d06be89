// SPDX-License-Identifier: Apache-2.0
#include "soak/run_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <regex>
#include <stdexcept>

namespace spansort::soak {
namespace {

constexpr const char* name_begin = "spansort-soak-";

bool may_be_a_run(const std::filesystem::path& path) {
  static const std::regex names(std::string(name_begin) + R"(\d+-\w{6})");
  return std::regex_match(path.filename().string(), names);
}

/// Removes a folder of this user's that no process holds. Where nothing can be locked, such as on NFS, it stays.
void remove_if_abandoned(const std::filesystem::path& path) {
  const int folder = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (folder < 0) return;
  struct stat found = {};
  if (::fstat(folder, &found) == 0 && found.st_uid == ::geteuid() && ::flock(folder, LOCK_EX | LOCK_NB) == 0) {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  ::close(folder);
}

void remove_abandoned(const std::string& in) {
  std::error_code failure;  // what cannot be listed has nothing to remove
  for (const auto& entry : std::filesystem::directory_iterator(in, failure)) {
    if (may_be_a_run(entry.path())) remove_if_abandoned(entry.path());
  }
}

}  // namespace

run_folder::run_folder(const std::string& wanted) {
  const std::string in = wanted.empty() ? std::filesystem::temp_directory_path().string() : wanted;
  remove_abandoned(in);
  while (!try_make(in)) {
  }
}

/// Another run may find the new folder before it is held, and then takes it away.
bool run_folder::try_make(const std::string& in) {
  path_ = fmt::format("{}/{}{}-XXXXXX", in, name_begin, ::getpid());
  if (::mkdtemp(path_.data()) == nullptr) throw std::runtime_error("no folder can be made in " + in);
  // Programs that this one starts inherit the descriptor: what they do may outlive this process.
  lock_ = ::open(path_.c_str(), O_RDONLY | O_DIRECTORY);
  if (lock_ < 0 && errno == ENOENT) return false;
  if (lock_ < 0) throw std::runtime_error("a new folder cannot be opened: " + path_);
  const bool is_taken = ::flock(lock_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  if (!is_taken && std::filesystem::exists(path_)) return true;
  ::close(lock_);
  return false;
}

run_folder::~run_folder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
  ::close(lock_);
}

}  // namespace spansort::soak
