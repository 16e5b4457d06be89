// SPDX-License-Identifier: Apache-2.0
#include "mpi/agreement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "spansort/errors.hpp"

namespace spansort::mpi {
namespace {

/// FNV-1a, 64 bits. The same on every machine, which std::hash is not.
std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

std::string to_text(const std::vector<setting>& settings) {
  std::string text;
  for (const setting& s : settings) text += fmt::format("{} {}\n", s.name, s.value);
  return text;
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

/// Lines of `theirs` that `ours` does not have.
std::string difference(std::string_view theirs, std::string_view ours) {
  const std::vector<std::string> known = lines_of(ours);
  std::string text;
  for (const std::string& line : lines_of(theirs)) {
    if (std::ranges::find(known, line) == known.end()) text += (text.empty() ? "" : ", ") + line;
  }
  return text.empty() ? "fewer settings" : text;
}

}  // namespace

std::string exactly(double number) { return fmt::format("{:a}", number); }

std::string differences_of(transport::communicator& group, const std::vector<setting>& settings) {
  const std::string mine = to_text(settings);
  const std::uint64_t hash = hash_of(mine);
  const std::vector<std::uint64_t> hashes = group.all_gather({&hash, 1});
  if (std::ranges::all_of(hashes, [&](std::uint64_t h) { return h == hashes.front(); })) return {};
  const std::vector<std::string> all = group.all_gather_strings(mine);
  std::string differences;
  for (std::size_t i = 1; i < all.size(); ++i) {
    if (all[i] == all[0]) continue;
    differences += fmt::format("; node rank {} has {} where node rank 0 has {}", i, difference(all[i], all[0]),
                               difference(all[0], all[i]));
  }
  return "the node ranks were given different settings" + differences;
}

bool try_together(transport::communicator& group, std::string_view phase, const std::function<void()>& f,
                  std::exception_ptr& failure_of_all) {
  group.set_phase(phase);
  std::exception_ptr mine;
  std::string message;
  try {
    f();
  } catch (const std::exception& failure) {
    mine = std::current_exception();
    message = failure.what();
    if (message.empty()) message = "it does not say why";
  }
  const std::vector<std::string> messages = group.all_gather_strings(message);
  failure_of_all = mine;
  for (std::size_t i = 0; i < messages.size() && failure_of_all == nullptr; ++i) {
    if (messages[i].empty()) continue;
    failure_of_all = std::make_exception_ptr(
        cluster_failure(fmt::format("node rank {} failed in phase {}: {}", i, phase, messages[i]), static_cast<int>(i),
                        std::string(phase)));
  }
  return failure_of_all == nullptr;
}

}  // namespace spansort::mpi
