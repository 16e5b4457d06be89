// SPDX-License-Identifier: Apache-2.0
#include "soak/resources.hpp"

#include <dirent.h>
#include <fmt/format.h>
#include <malloc.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "memory/failing_memory.hpp"

namespace spansort::soak {
namespace {

/// The number behind a name in /proc/self/status.
std::int64_t status_number(const char* name) {
  std::FILE* const file = std::fopen("/proc/self/status", "r");
  if (file == nullptr) return 0;
  char line[256];
  std::int64_t number = 0;
  while (std::fgets(line, sizeof line, file) != nullptr) {
    if (std::strncmp(line, name, std::strlen(name)) == 0) number = std::atoll(line + std::strlen(name));
  }
  std::fclose(file);
  return number;
}

std::int64_t count_descriptors() {
  DIR* const folder = ::opendir("/proc/self/fd");
  if (folder == nullptr) return 0;
  std::int64_t count = -1;  // the folder itself
  while (const dirent* const entry = ::readdir(folder)) count += entry->d_name[0] != '.' ? 1 : 0;
  ::closedir(folder);
  return count;
}

}  // namespace

resources held_now(std::int64_t usual_threads) {
  resources held;
  held.threads = status_number("Threads:");
  for (int waits = 0; held.threads > usual_threads && usual_threads != 0 && waits < 20; ++waits) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    held.threads = status_number("Threads:");
  }
  held.descriptors = count_descriptors();
  held.resident_bytes = status_number("VmRSS:") * 1024;
  held.allocations = test::live_allocations();
  return held;
}

resources held_after_trim() {
  ::malloc_trim(0);
  return held_now();
}

std::string to_string(const resources& held) {
  return fmt::format("{} allocations, {} descriptors, {} threads, {} KiB", held.allocations, held.descriptors,
                     held.threads, held.resident_bytes / 1024);
}

}  // namespace spansort::soak
