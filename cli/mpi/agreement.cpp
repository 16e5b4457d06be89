// SPDX-License-Identifier: Apache-2.0
#include "cli/mpi/agreement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstddef>

#include "cli/common.hpp"

namespace cli {
namespace {

// A thousand node ranks that each name their own node need not all be read.
constexpr std::size_t most_messages = 8;

std::string to_text(const std::vector<agreed_setting>& settings) {
  std::string text;
  for (const agreed_setting& s : settings) text += fmt::format("{} {}{}", s.name, s.value, '\0');
  return text;
}

std::vector<std::string> settings_of(std::string_view text) {
  std::vector<std::string> settings;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\0'), text.size());
    settings.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return settings;
}

/// Settings of `theirs` that `ours` lacks.
std::string difference(const std::string& theirs, const std::string& ours) {
  const std::vector<std::string> known = settings_of(ours);
  std::string text;
  for (const std::string& setting : settings_of(theirs)) {
    if (std::ranges::find(known, setting) == known.end()) text += (text.empty() ? "" : ", ") + setting;
  }
  return text.empty() ? "nothing" : text;
}

/// A node rank's end as the others hear it: "=4 cannot open x.npy"; an echo begins with "~".
std::string to_text(const node_outcome& mine) {
  return fmt::format("{}{} {}", mine.is_echo ? '~' : '=', mine.end.status, mine.end.message);
}

node_outcome outcome_of(std::string_view text) {
  node_outcome result;
  result.is_echo = text.starts_with('~');
  text.remove_prefix(1);
  const char* const rest = std::from_chars(text.data(), text.data() + text.size(), result.end.status).ptr;
  result.end.message = text.substr(static_cast<std::size_t>(rest - text.data()) + 1);
  return result;
}

std::string merge_messages(const std::vector<node_outcome>& all, const std::vector<std::size_t>& failed) {
  const std::string& first = all[failed.front()].end.message;
  const bool is_same = std::ranges::all_of(failed, [&](std::size_t i) { return all[i].end.message == first; });
  if (is_same && failed.size() == all.size()) return first;
  std::string text;
  for (std::size_t i = 0; i < std::min(failed.size(), most_messages); ++i) {
    text += fmt::format("{}node rank {}: {}", i == 0 ? "" : "\nspansort: ", failed[i], all[failed[i]].end.message);
  }
  if (failed.size() > most_messages) text += fmt::format("\nspansort: and {} more", failed.size() - most_messages);
  return text;
}

}  // namespace

outcome compare_settings(const mpi_world& world, const std::vector<agreed_setting>& settings) {
  const std::string mine = to_text(settings);
  if (world.is_same(mine)) return {};
  const std::vector<std::string> all = world.gather(mine);
  std::string differences;
  std::size_t num_differing = 0;
  for (std::size_t i = 1; i < all.size(); ++i) {
    if (all[i] == all[0] || ++num_differing > most_messages) continue;
    differences += fmt::format("; node rank {} has {} where node rank 0 has {}", i, difference(all[i], all[0]),
                               difference(all[0], all[i]));
  }
  if (num_differing > most_messages) differences += fmt::format("; and {} more", num_differing - most_messages);
  return {status_usage, "the node ranks were started with different arguments" + differences};
}

outcome agree_on_outcome(const mpi_world& world, const node_outcome& mine) {
  const bool is_well = mine.end.status == status_ok && mine.end.message.empty();
  if (world.is_same(is_well ? "" : to_text(mine))) return mine.end;
  std::vector<node_outcome> all;
  for (const std::string& text : world.gather(to_text(mine))) all.push_back(outcome_of(text));
  std::vector<std::size_t> failed;
  std::vector<std::size_t> failed_themselves;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].end.status == status_ok) continue;
    failed.push_back(i);
    if (!all[i].is_echo) failed_themselves.push_back(i);
  }
  if (failed_themselves.empty()) failed_themselves = failed;
  return {all[failed_themselves.front()].end.status, merge_messages(all, failed_themselves)};
}

}  // namespace cli
