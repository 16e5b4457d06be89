// SPDX-License-Identifier: Apache-2.0
#include "bench/suites/suite.hpp"

#include <fmt/format.h>
#include <omp.h>
#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <spansort/devices.hpp>
#include <spansort/errors.hpp>
#include <spansort/files.hpp>
#include <utility>

#include "bench/circumstances.hpp"
#include "bench/suites/devices.hpp"
#include "bench/suites/metadata.hpp"
#include "bench/suites/peers/peers.hpp"
#include "bench/suites/race.hpp"
#include "bench/suites/results_file.hpp"
#include "bench/suites/schedule.hpp"

namespace bench {
namespace {

using json = nlohmann::ordered_json;
using steady = std::chrono::steady_clock;

bool is_wanted(const figure& f, const settings& s) {
  return s.figures.empty() || std::ranges::any_of(s.figures, [&](const std::string& word) {
           return f.name.find(word) != std::string::npos;
         });
}

/// Returns why there is no memory for a case, "" where there is: the input, its work array and records of baselines, a
/// workspace of three copies, and three copies in each peer. `held_bytes` of the host's memory are there for inputs
/// already.
std::string why_too_large(const case_spec& spec, const figure& of, const settings& s, std::uint64_t held_bytes) {
  const std::uint64_t copies_on_host = 6 + 3 * (s.peers ? s.peers->num_peers() : 0);
  const std::uint64_t size_bytes = spec.num_keys * spec.num_arrays * parse_record_type(spec.type).size_bytes();
  for (const spansort::device_description& device : spansort::list_devices()) {
    const bool is_host = !device.name.starts_with("gpu");
    const bool holds_all = is_host || (!of.spans_devices && std::ranges::any_of(s.devices, is_gpu));
    const std::uint64_t needed = size_bytes * (is_host ? copies_on_host : 5);
    const std::uint64_t available = device.available_bytes + (is_host ? held_bytes : 0);
    if (holds_all && needed > available) {
      return fmt::format("{} has {} of the {} bytes that it may take", device.name, available, needed);
    }
  }
  return "";
}

std::string title_of(const scheduled_case& one) {
  std::string figures;
  for (const auto& user : one.users) figures += (figures.empty() ? "" : ", ") + user.of->name;
  const case_spec& spec = one.spec;
  std::string title = fmt::format("{}: {} {} n = {}", figures, spec.type, spec.distribution, spec.num_keys);
  if (spec.radix_bits != 0) title += fmt::format(", {} bits", spec.radix_bits);
  if (spec.device_memory_bytes != 0) title += fmt::format(", {} bytes a device", spec.device_memory_bytes);
  return title;
}

bool is_same(const candidate& a, const candidate& b) {
  return a.name == b.name && a.devices == b.devices && a.data == b.data;
}

bool is_result_of(const json& result, const candidate& c) {
  return result.at("name") == c.name && result.at("devices") == c.devices && result.at("data") == c.data;
}

/// Adds those that are not there yet; of those that are, the greater detail holds.
void add(std::vector<candidate>& to, std::vector<candidate> more) {
  for (candidate& one : more) {
    const auto found = std::ranges::find_if(to, [&](const candidate& c) { return is_same(c, one); });
    if (found == to.end()) {
      to.push_back(std::move(one));
    } else {
      found->wanted = std::max(found->wanted, one.wanted);
    }
  }
}

/// Returns what a figure shows of a case that was run for several.
json part_of(const json& whole, const figure& of, std::size_t place, const std::vector<candidate>& shown) {
  json part = {{"figure", of.name}, {"source", of.source}, {"place", place}};
  part.update(whole);
  json results = json::array();
  for (const json& result : whole.at("results")) {
    if (std::ranges::any_of(shown, [&](const candidate& c) { return is_result_of(result, c); })) {
      results.push_back(result);
    }
  }
  part["results"] = std::move(results);
  return part;
}

/// The cases of all figures with the time that they may take, and what came of them.
class suite_runner {
 public:
  suite_runner(settings s, json meta) : settings_(std::move(s)), race_(settings_), meta_(std::move(meta)) {}

  int run(const std::vector<scheduled_case>& cases) {
    for (const scheduled_case& one : cases) run_case(one);
    write();
    fmt::print("{} cases, {} left out\n", cases_.size(), left_out_.size());
    return race_.all_verified() ? 0 : 8;
  }

 private:
  /// A case's place in the file: figures stand in their order, which are elements of one array, and each one's cases in
  /// theirs.
  using position = std::pair<const figure*, std::size_t>;

  void run_case(scheduled_case one) {
    if (!settings_.is_grid) fmt::print("\n{}\n", title_of(one));
    const bool is_late = settings_.seconds > 0 && elapsed_s() > settings_.seconds;
    std::erase_if(one.users, [&](const scheduled_case::user& user) {
      const std::string why =
          is_late ? "no time left" : why_too_large(one.spec, *user.of, settings_, race_.held_bytes());
      if (!why.empty()) leave_out(user, one.spec, why);
      return !why.empty();
    });
    if (!one.users.empty()) race_case(one);
    // An hour's figures must not be lost with the last case; a large file is not written after each of them.
    if (!settings_.is_grid || elapsed_s() > written_s_ + 20) write();
  }

  void race_case(const scheduled_case& one) {
    std::vector<candidate> all;
    std::vector<std::vector<candidate>> shown;
    for (const scheduled_case::user& user : one.users) {
      shown.push_back(candidates_of(*user.of, one.spec, settings_));
      add(all, shown.back());
    }
    try {
      const double begin_s = elapsed_s();
      json whole = race_.run(one.spec, all);
      whole["took_s"] = elapsed_s() - begin_s;
      for (std::size_t i = 0; i < one.users.size(); ++i) {
        const scheduled_case::user& user = one.users[i];
        cases_[{user.of, user.place}] = part_of(whole, *user.of, user.place, shown[i]);
      }
    } catch (const spansort::out_of_memory& e) {
      for (const scheduled_case::user& user : one.users) leave_out(user, one.spec, e.what());
    }
  }

  void leave_out(const scheduled_case::user& user, const case_spec& spec, const std::string& why) {
    if (!settings_.is_grid) fmt::print("  left out: {}\n", why);
    json left = {{"figure", user.of->name},
                 {"place", user.place},
                 {"type", spec.type},
                 {"distribution", spec.distribution},
                 {"num_keys", spec.num_keys}};
    if (spec.radix_bits != 0) left["radix_bits"] = spec.radix_bits;
    if (spec.device_memory_bytes != 0) left["device_memory_bytes"] = spec.device_memory_bytes;
    left["reason"] = why;
    left_out_[{user.of, user.place}] = std::move(left);
  }

  [[nodiscard]] double elapsed_s() const { return std::chrono::duration<double>(steady::now() - begin_).count(); }

  void write() {
    if (settings_.json_file.empty()) return;
    const time_spent& spent = race_.spent();
    meta_["load_average_at_end"] = load_average();
    meta_["spent_s"] = {{"all", elapsed_s()},         {"generate", spent.generate_s}, {"make", spent.make_s},
                        {"prepare", spent.prepare_s}, {"sort", spent.sort_s},         {"verify", spent.verify_s},
                        {"report", spent.report_s}};
    json document = {{"meta", meta_}, {"cases", json::array()}, {"left_out", json::array()}};
    for (const auto& [where, made] : cases_) document["cases"].push_back(made);
    for (const auto& [where, left] : left_out_) document["left_out"].push_back(left);
    spansort::write_file(settings_.json_file, (settings_.is_grid ? dense_text(document) : document.dump(1)) + "\n");
    written_s_ = elapsed_s();
  }

  settings settings_;
  race_runner race_;
  json meta_;
  std::map<position, json> cases_;
  std::map<position, json> left_out_;
  steady::time_point begin_ = steady::now();
  double written_s_ = 0;  ///< when the file was written last
};

/// Leaves `count` of its processors to this process and to all that it starts.
void keep_processors(unsigned count) {
  cpu_set_t allowed;
  if (::sched_getaffinity(0, sizeof(allowed), &allowed) != 0) throw spansort::io_error("cannot read affinity", errno);
  const auto all = static_cast<unsigned>(CPU_COUNT(&allowed));
  if (count > all) throw spansort::invalid_argument(fmt::format("--threads {}: there are {} processors", count, all));
  for (std::size_t cpu = CPU_SETSIZE; cpu-- > 0 && static_cast<unsigned>(CPU_COUNT(&allowed)) > count;) {
    CPU_CLR(cpu, &allowed);
  }
  if (::sched_setaffinity(0, sizeof(allowed), &allowed) != 0) throw spansort::io_error("cannot set affinity", errno);
  ::omp_set_num_threads(static_cast<int>(count));  // OpenMP has counted processors already
}

std::vector<figure> wanted_figures(const std::string& suite, const settings& s) {
  std::vector<figure> figures = s.is_grid ? grid_figures({s.types, s.distributions, s.log2_sizes, s.max_log2_size})
                                          : figures_of(suite, s.max_log2_size);
  std::erase_if(figures, [&](const figure& f) { return !is_wanted(f, s); });
  if (figures.empty()) throw spansort::invalid_argument("--only names no figure of suite " + suite);
  return figures;
}

}  // namespace

int run_suite(const std::string& suite, settings s, const std::string& command) {
  s.is_grid = suite == "cpu";
  if (s.threads != 0) keep_processors(s.threads);
  if (!s.peers_files.empty()) s.peers = std::make_shared<peer_pool>(s.peers_files);
  s.devices = s.is_grid ? std::vector<std::string>{"cpu"} : resolve_devices(s.devices);
  const std::vector<figure> figures = wanted_figures(suite, s);
  std::vector<scheduled_case> cases = schedule(figures);
  const std::set<std::string> measured = names_of_measured(s.measured_files);
  for (scheduled_case& one : cases) {
    std::erase_if(one.users, [&](const auto& user) { return measured.contains(case_name(*user.of, one.spec)); });
  }
  std::erase_if(cases, [](const scheduled_case& one) { return one.users.empty(); });
  if (s.is_dry_run) {
    for (const scheduled_case& one : cases) fmt::print("{}\n", title_of(one));
    return 0;
  }
  const json meta = metadata(suite, s, command);
  return suite_runner(std::move(s), meta).run(cases);
}

}  // namespace bench
