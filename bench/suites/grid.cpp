// SPDX-License-Identifier: Apache-2.0
// The grid of the CPU: types and operations, sizes from 16 keys on, distributions. Levels say what comes first where
// time is short: each of a type, a size and a distribution adds to it.
#include <algorithm>

#include "bench/suites/figures.hpp"

namespace bench {
namespace {

struct ranked {
  std::string name;
  unsigned level;
};

const std::vector<ranked> grid_types = {
    {"u32", 0},      {"u64", 0},          {"u32(u32)", 0},     {"argsort(u32)", 0}, {"f32", 1},          {"f64", 1},
    {"u64(u64)", 1}, {"argsort(f64)", 1}, {"i32", 2},          {"i64", 2},          {"argsort(u64)", 2}, {"u8", 2},
    {"u16", 2},      {"f16", 2},          {"argsort(f32)", 3}, {"argsort(i32)", 3}, {"argsort(i64)", 3},
};

const std::vector<ranked> integer_distributions = {
    {"uniform", 0},   {"sorted", 1},        {"reverse", 2},  {"nearly-sorted", 1}, {"sorted-tail", 2}, {"runs:2", 1},
    {"runs:4", 2},    {"bucket-sorted", 2}, {"values:2", 1}, {"values:16", 0},     {"values:1000", 2}, {"entropy:2", 2},
    {"entropy:4", 0}, {"entropy:8", 2},     {"zipf:0.5", 2}, {"zipf:1", 1},        {"zipf:2", 2},      {"bits:16", 1},
};

/// Floats have the values of integers where the distribution is one of words. Uniform ones are of [0, 1).
const std::vector<ranked> float_distributions = {
    {"uniform", 0},     {"normal", 0},      {"sorted", 1},          {"reverse", 2},         {"nearly-sorted", 1},
    {"sorted-tail", 2}, {"runs:2", 1},      {"runs:4", 2},          {"bucket-sorted", 2},   {"values:2", 1},
    {"values:16", 0},   {"values:1000", 2}, {"whole:entropy:2", 2}, {"whole:entropy:4", 1}, {"whole:entropy:8", 2},
    {"zipf:0.5", 2},    {"zipf:1", 1},      {"zipf:2", 2},          {"whole:bits:16", 1},
};

constexpr unsigned smallest_log2_size = 4;
constexpr unsigned largest_log2_size = 27;
/// Returns of how many keys the small arrays are together that are sorted between two readings of the clock: some 20
/// microseconds of the fastest sorts.
std::uint64_t keys_of_a_batch(const std::string& type) {
  return std::uint64_t{1} << (type.find('(') == std::string::npos ? 16 : 14);
}

std::vector<unsigned> log2_sizes(const grid_part& part) {
  if (!part.log2_sizes.empty()) return part.log2_sizes;
  const unsigned end = std::min(part.max_log2_size, largest_log2_size);
  std::vector<unsigned> found;
  for (unsigned log2 = smallest_log2_size; log2 <= end; log2 += 2) found.push_back(log2);
  if (found.empty() || found.back() != end) found.push_back(end);
  return found;
}

unsigned level_of_size(unsigned log2) {
  if (log2 <= 16) return 0;
  if (log2 <= 20) return 1;
  if (log2 == 24) return 2;
  return log2 <= 26 ? 3 : 5;
}

bool is_float(const std::string& type) { return type.find('f') != std::string::npos; }

const std::vector<ranked>& all_distributions_of(const std::string& type) {
  return is_float(type) ? float_distributions : integer_distributions;
}

const ranked* find(const std::vector<ranked>& among, const std::string& name) {
  const auto found = std::ranges::find(among, name, &ranked::name);
  return found == among.end() ? nullptr : &*found;
}

/// Returns all, or those that the caller names: what is not of the grid is taken as it is.
std::vector<ranked> distributions_of(const std::string& type, const grid_part& part) {
  const std::vector<ranked>& all = all_distributions_of(type);
  std::vector<ranked> found = part.distributions.empty() ? all : std::vector<ranked>();
  for (const std::string& name : part.distributions) {
    const ranked* const whole = find(all, "whole:" + name);
    found.push_back(whole != nullptr ? *whole : ranked{name, 0});
  }
  // Words of 16 bits have no whole numbers beyond 2^11.
  if (type == "f16") std::erase_if(found, [](const ranked& d) { return d.name.starts_with("whole:"); });
  return found;
}

std::vector<ranked> types_of(const grid_part& part) {
  if (part.types.empty()) return grid_types;
  std::vector<ranked> found;
  for (const std::string& name : part.types) found.push_back({name, 0});
  return found;
}

}  // namespace

std::vector<figure> grid_figures(const grid_part& part) {
  std::vector<figure> figures;
  for (const ranked& type : types_of(part)) {
    figure made{"cpu", "grid-" + type.name, "the grid of the CPU", {}};
    for (const ranked& d : distributions_of(type.name, part)) {
      for (const unsigned log2 : log2_sizes(part)) {
        case_spec spec{type.name, d.name, std::uint64_t{1} << log2};
        spec.level = type.level + d.level + level_of_size(log2);
        spec.num_arrays = std::max<std::uint64_t>(1, keys_of_a_batch(type.name) >> log2);
        made.cases.push_back(spec);
      }
    }
    figures.push_back(std::move(made));
  }
  return figures;
}

}  // namespace bench
