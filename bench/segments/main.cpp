// SPDX-License-Identifier: Apache-2.0
// Segmented sorts of host memory next to loops over the segments: spansort_bench_segments. Same input, same process,
// runs in turn; every result is compared with std::sort's. Times are those of all processors together, then of the
// wall clock, in ms: the least of the runs.
#include <fmt/format.h>
#include <hwy/contrib/sort/vqsort.h>
#include <time.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <spansort/generate.hpp>
#include <spansort/segmented.hpp>
#include <string>
#include <vector>

namespace bench {
namespace {

struct settings {
  std::vector<std::string> types{"u32", "u64", "f32"};
  std::uint64_t num_keys = 30'000'000;
  unsigned threads = 0;
  unsigned repeats = 5;
};

double seconds_of(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

using offsets = std::vector<std::uint64_t>;

offsets offsets_of(const std::vector<std::uint64_t>& lengths) {
  offsets all{0};
  for (const std::uint64_t length : lengths) all.push_back(all.back() + length);
  return all;
}

offsets equal_segments(std::uint64_t num_keys, std::uint64_t length) {
  return offsets_of(std::vector<std::uint64_t>(num_keys / length, length));
}

/// Lengths in proportion to 1, 1/2, 1/3 ..., in any order.
offsets zipf_segments(std::uint64_t num_keys, std::uint64_t num_segments) {
  const double sum = std::log(static_cast<double>(num_segments)) + 0.5772;
  std::vector<std::uint64_t> lengths;
  for (std::uint64_t i = 1; i <= num_segments; ++i) {
    lengths.push_back(static_cast<std::uint64_t>(static_cast<double>(num_keys) / sum / static_cast<double>(i)));
  }
  std::ranges::shuffle(lengths, std::mt19937_64(1));
  return offsets_of(lengths);
}

offsets one_among_many(std::uint64_t num_keys) {
  std::vector<std::uint64_t> lengths(num_keys / 24, 8);
  lengths[lengths.size() / 2] = num_keys / 3 * 2;
  return offsets_of(lengths);
}

struct contender {
  std::string name;
  std::function<void()> sort;
  double processor_ms = std::numeric_limits<double>::max();
  double wall_ms = std::numeric_limits<double>::max();
};

void run(contender& c) {
  const double wall = seconds_of(CLOCK_MONOTONIC);
  const double processor = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
  c.sort();
  c.processor_ms = std::min(c.processor_ms, 1e3 * (seconds_of(CLOCK_PROCESS_CPUTIME_ID) - processor));
  c.wall_ms = std::min(c.wall_ms, 1e3 * (seconds_of(CLOCK_MONOTONIC) - wall));
}

template <class K>
void race(const settings& with, const std::string& shape, const offsets& bounds) {
  std::vector<K> input(bounds.back());
  spansort::generate(spansort::as_key_span(std::span(input)), {}, 1);
  std::vector<K> keys = input;
  const auto for_each = [&](const auto& sort) {
    for (std::size_t i = 0; i + 1 < bounds.size(); ++i) sort(keys.data() + bounds[i], keys.data() + bounds[i + 1]);
  };
  for_each([](K* begin, K* end) { std::sort(begin, end); });
  const std::vector<K> expected = keys;
  static const hwy::Sorter vqsort;
  const spansort::sort_options one{.threads = 1};
  std::vector<contender> all{
      {"one thread", [&] { sort_segments(keys, bounds, spansort::direction::ascending, one); }},
      {"threads", [&] { sort_segments(keys, bounds, spansort::direction::ascending, {.threads = with.threads}); }},
      {"sort() each", [&] { for_each([](K* begin, K* end) { spansort::sort(begin, end); }); }},
      {"vqsort each",
       [&] {
         for_each([](K* begin, K* end) {
           if (begin != end) vqsort(begin, static_cast<std::size_t>(end - begin), hwy::SortAscending());
         });
       }},
      {"std::sort each", [&] { for_each([](K* begin, K* end) { std::sort(begin, end); }); }}};
  for (unsigned i = 0; i < with.repeats; ++i) {
    for (contender& c : all) {
      std::copy(input.begin(), input.end(), keys.begin());
      run(c);
      if (keys != expected) throw std::runtime_error(c.name + " has another result than std::sort");
    }
  }
  fmt::print("{:4} {:24}", name(spansort::key_traits<K>::type), shape);
  for (const contender& c : all) fmt::print(" | {} {:.1f} {:.1f}", c.name, c.processor_ms, c.wall_ms);
  fmt::print("\n");
}

template <class K>
void race_all(const settings& with) {
  for (const std::uint64_t length : {4, 10, 32, 100, 1000, 100'000, 1'000'000}) {
    race<K>(with, fmt::format("segments of {}", length), equal_segments(with.num_keys, length));
  }
  race<K>(with, "one among many of 8", one_among_many(with.num_keys));
  race<K>(with, "zipf, 10^6 segments", zipf_segments(with.num_keys, 1'000'000));
  race<K>(with, "one segment", equal_segments(with.num_keys, with.num_keys));
}

int run_all(int argc, char** argv) {
  settings with;
  CLI::App app("segmented sorts of host memory next to loops over the segments");
  app.add_option("--types", with.types, "of u32, u64, f32")->delimiter(',');
  app.add_option("--num-keys", with.num_keys, "in all segments together, at least a million");
  app.add_option("--threads", with.threads, "0: one a processor");
  app.add_option("--repeats", with.repeats);
  CLI11_PARSE(app, argc, argv);
  for (const std::string& type : with.types) {
    if (type == "u32") race_all<std::uint32_t>(with);
    if (type == "u64") race_all<std::uint64_t>(with);
    if (type == "f32") race_all<float>(with);
  }
  return 0;
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  try {
    return bench::run_all(argc, argv);
  } catch (const std::exception& failure) {
    fmt::print(stderr, "spansort_bench_segments: {}\n", failure.what());
    return 1;
  }
}
