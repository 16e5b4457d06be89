// SPDX-License-Identifier: Apache-2.0
#include "soak/case.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <thread>

#include "soak/call.hpp"
#include "soak/job_folder.hpp"
#include "soak/resources.hpp"

namespace spansort::soak {
namespace {

constexpr std::array<std::string_view, 8> planted_names = {"nothing", "wrong", "leak",  "descriptor",
                                                           "thread",  "file",  "crash", "hang"};

/// A job with all that was drawn for it, and how it went.
struct slot {
  const operation* what = nullptr;
  std::unique_ptr<job> work = {};
  std::unique_ptr<call> how = {};
  ending end = ending::done;
  std::string failure = {};

  void run(planted plant) {
    try {
      work->prepare();
      end = how->run(*work);
      if (plant == planted::wrong && end == ending::done && !work->result().empty()) {
        work->result()[work->result().size() / 2] ^= std::byte{4};
      }
      failure = work->check(end);
    } catch (const std::exception& e) {
      failure = std::string("exception: ") + e.what();
    }
    if (failure.empty()) return;
    failure = fmt::format("{} ({}): {}; {}; {}", what->name, name(end), failure, work->describe(), how->describe());
  }
};

const operation& draw_operation(drawing& from) {
  unsigned all = 0;
  for (const operation& each : operations()) all += each.weight;
  std::uint64_t dice = from.random.below(all);
  for (const operation& each : operations()) {
    if (dice < each.weight) return each;
    dice -= each.weight;
  }
  return operations().front();
}

/// Every job has random words of its own, so that what one draws does not change the next.
slot draw_slot(const settings& s, test::random_words& random, bool is_alone, const std::string& folder) {
  std::filesystem::create_directory(folder);
  drawing from{.random = test::random_words(random()),
               .most_keys = is_alone ? s.most_keys : s.most_keys / 8,
               .has_gpu = s.has_gpu,
               .folder = folder,
               .command = s.command};
  slot drawn;
  do drawn.what = &draw_operation(from);
  while (drawn.what->is_process && s.command.empty());
  drawn.how = std::make_unique<call>(*drawn.what, from, is_alone);
  drawn.work = drawn.what->draw(from);
  return drawn;
}

/// One job in four has a thread that ends with it; several have one each.
void run_all(std::vector<slot>& slots, planted plant, bool on_own_thread) {
  if (slots.size() == 1 && !on_own_thread) return slots.front().run(plant);
  std::vector<std::thread> threads;
  for (slot& each : slots) threads.emplace_back([&each, plant] { each.run(plant); });
  for (std::thread& thread : threads) thread.join();
}

/// Does what the soak's test has it do wrong. The results of these calls are not wanted.
void plant_fault(const settings& s) {
  switch (s.plant) {
    case planted::leak: {
      [[maybe_unused]] static void* volatile lost = nullptr;
      lost = std::malloc(100);
      break;
    }
    case planted::descriptor: static_cast<void>(::dup(STDERR_FILENO)); break;
    case planted::thread: std::thread([] { std::this_thread::sleep_for(std::chrono::hours(1)); }).detach(); break;
    case planted::file: write_bytes(s.folder + "/forgotten", {}); break;
    case planted::crash: std::abort();
    case planted::hang: std::this_thread::sleep_for(std::chrono::hours(1)); break;
    default: break;
  }
}

/// The names of what grew, "" for none.
std::string growth(const resources& before, const resources& after) {
  std::string grown;
  if (after.allocations > before.allocations) grown += " allocations";
  if (after.descriptors > before.descriptors) grown += " descriptors";
  if (after.threads > before.threads) grown += " threads";
  return grown;
}

}  // namespace

std::string_view name(planted p) { return planted_names[static_cast<std::size_t>(p)]; }

planted parse_planted(std::string_view text) {
  for (std::size_t i = 0; i < planted_names.size(); ++i) {
    if (planted_names[i] == text) return static_cast<planted>(i);
  }
  throw std::invalid_argument("nothing like that can be planted: " + std::string(text));
}

case_result run_case(const settings& s, std::uint64_t number) {
  test::random_words random(s.seed * 0x10001 + number);
  const std::uint64_t num_jobs = random.below(7) == 0 ? 2 + random.below(3) : 1;
  const bool on_own_thread = random.below(4) == 0;
  // A planted fault is in some cases, so that the soak has to say in which.
  const planted plant = number % 4 == 3 ? s.plant : planted::nothing;
  std::vector<slot> slots;
  for (std::uint64_t i = 0; i < num_jobs; ++i) {
    slots.push_back(draw_slot(s, random, num_jobs == 1, fmt::format("{}/{}", s.folder, i)));
  }
  for (const slot& each : slots) {
    if (s.tells) fmt::print("{}: {}; {}\n", each.what->name, each.work->describe(), each.how->describe());
  }
  std::fflush(stdout);
  run_all(slots, plant, on_own_thread);
  if (plant != planted::nothing) plant_fault(s);
  case_result result;
  for (std::uint64_t i = 0; i < num_jobs; ++i) {
    result.outcomes[result.num_jobs++] = {slots[i].what->name, slots[i].end, slots[i].how->is_on_gpus()};
    if (result.failure.empty()) result.failure = slots[i].failure;
    std::filesystem::remove_all(fmt::format("{}/{}", s.folder, i));
  }
  for (const auto& entry : std::filesystem::directory_iterator(s.folder)) {
    if (result.failure.empty()) result.failure = "left behind: " + entry.path().filename().string();
    std::filesystem::remove_all(entry.path());
  }
  return result;
}

case_result run_watched_case(const settings& s, std::uint64_t number) {
  const resources begin = held_now();
  case_result result = run_case(s, number);
  resources before = begin;
  resources after = held_now(begin.threads);
  // Each of many threads may come to need memory that it keeps, in a run of its own.
  const int num_repeats = 5 + static_cast<int>(std::thread::hardware_concurrency());
  for (int i = 0; i < num_repeats && result.failure.empty() && !growth(before, after).empty(); ++i) {
    before = after;
    result.failure = run_case(s, number).failure;
    after = held_now(before.threads);
    if (i + 1 == num_repeats && !growth(before, after).empty()) {
      std::string names;
      for (std::size_t j = 0; j < result.num_jobs; ++j) names += " " + std::string(result.outcomes[j].operation);
      result.failure = fmt::format("held back, by each of {} runs of{}:{}; {} at first, {} now", num_repeats + 1, names,
                                   growth(before, after), to_string(begin), to_string(after));
    }
  }
  return result;
}

}  // namespace spansort::soak
