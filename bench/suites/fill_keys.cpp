// SPDX-License-Identifier: Apache-2.0
#include "bench/suites/fill_keys.hpp"

#include <fmt/format.h>
#include <oneapi/tbb/parallel_for.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <spansort/errors.hpp>
#include <spansort/generate.hpp>
#include <string_view>
#include <vector>

#include "bench/suites/key_cases.hpp"

namespace bench {
namespace {

using range = tbb::blocked_range<std::uint64_t>;

constexpr std::uint64_t grain = std::uint64_t{1} << 16;

template <class Body>
void for_all(std::uint64_t count, const Body& body) {
  tbb::parallel_for(range(0, count, grain), [&body](const range& part) {
    for (std::uint64_t i = part.begin(); i != part.end(); ++i) body(i);
  });
}

void generate(spansort::key_span keys, std::string_view distribution, std::uint64_t seed) {
  spansort::generate(keys, spansort::parse_distribution(distribution), seed);
}

/// Returns what stands behind the prefix, nothing where that is another one.
std::optional<std::string> after(const std::string& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return std::nullopt;
  return text.substr(prefix.size());
}

std::uint64_t number_in(const std::string& text) {
  std::uint64_t number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code == std::errc{} && end == text.data() + text.size() && number > 0) return number;
  throw spansort::invalid_argument(fmt::format("expected a number above 0 in the distribution, found '{}'", text));
}

void keep_low_bits(spansort::key_span keys, std::uint64_t bits) {
  with_key_bits(spansort::size_bytes(keys.type), [&]<class W>() {
    const W mask = bits >= 8 * sizeof(W) ? static_cast<W>(~W{0}) : static_cast<W>((std::uint64_t{1} << bits) - 1);
    for_all(keys.num_keys, [=](std::uint64_t i) { static_cast<W*>(keys.data)[i] &= mask; });
  });
}

/// A fixed function of place and seed that looks random (splitmix64).
std::uint64_t scramble(std::uint64_t place, std::uint64_t seed) {
  std::uint64_t z = seed * 0xD1342543DE82EF95U + (place + 1) * 0x9E3779B97F4A7C15U;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31);
}

void fill_few_values(spansort::key_span keys, std::uint64_t num_values, std::uint64_t seed) {
  with_key_bits(spansort::size_bytes(keys.type), [&]<class W>() {
    std::vector<W> values(num_values);
    generate({keys.type, values.data(), num_values}, "uniform", seed);
    for_all(keys.num_keys,
            [&](std::uint64_t i) { static_cast<W*>(keys.data)[i] = values[(scramble(i, seed) >> 32) % num_values]; });
  });
}

void fill_sorted_with_tail(spansort::key_span keys, std::uint64_t seed) {
  generate(keys, "sorted", seed);
  const std::uint64_t tail = std::max<std::uint64_t>(1, keys.num_keys / 100);
  char* const begin = static_cast<char*>(keys.data) + (keys.num_keys - tail) * spansort::size_bytes(keys.type);
  generate({keys.type, begin, tail}, "uniform", seed + 1);
}

/// Writes so many sorted runs of all keys, one behind the other.
void fill_runs(spansort::key_span keys, std::uint64_t num_runs, std::uint64_t seed) {
  for (std::uint64_t run = 0; run < num_runs; ++run) {
    const std::uint64_t first = keys.num_keys * run / num_runs;
    const std::uint64_t end = keys.num_keys * (run + 1) / num_runs;
    char* const begin = static_cast<char*>(keys.data) + first * spansort::size_bytes(keys.type);
    generate({keys.type, begin, end - first}, "sorted", seed + run);
  }
}

template <class F, class U>
void fill_whole_numbers(spansort::key_span keys, std::uint64_t num_keys, const std::string& of, std::uint64_t seed) {
  static_assert(sizeof(F) == sizeof(U));
  const spansort::key_type type = sizeof(U) == 4 ? spansort::key_type::u32 : spansort::key_type::u64;
  fill_keys({type, keys.data, keys.num_keys}, num_keys, of, seed);
  for_all(keys.num_keys, [=](std::uint64_t i) {
    static_cast<F*>(keys.data)[i] = static_cast<F>(static_cast<const U*>(keys.data)[i]);
  });
}

/// Returns whether a key depends on its place, so that each array is one of its own.
bool depends_on_place(const std::string& d) {
  return d == "sorted" || d == "reverse" || d == "nearly-sorted" || d == "bucket-sorted" || d == "staggered" ||
         d == "sorted-tail" || d.starts_with("runs:");
}

}  // namespace

void fill_keys(spansort::key_span keys, std::uint64_t num_keys, const std::string& distribution, std::uint64_t seed) {
  if (num_keys < keys.num_keys && depends_on_place(distribution)) {
    for (std::uint64_t first = 0; first < keys.num_keys; first += num_keys) {
      char* const begin = static_cast<char*>(keys.data) + first * spansort::size_bytes(keys.type);
      fill_keys({keys.type, begin, num_keys}, num_keys, distribution, scramble(first, seed));
    }
  } else if (const auto bits = after(distribution, "bits:")) {
    generate(keys, "uniform", seed);
    keep_low_bits(keys, number_in(*bits));
  } else if (const auto count = after(distribution, "values:")) {
    fill_few_values(keys, number_in(*count), seed);
  } else if (const auto num_runs = after(distribution, "runs:")) {
    fill_runs(keys, number_in(*num_runs), seed);
  } else if (const auto of = after(distribution, "whole:")) {
    if (keys.type == spansort::key_type::f32)
      return fill_whole_numbers<float, std::uint32_t>(keys, num_keys, *of, seed);
    if (keys.type == spansort::key_type::f64)
      return fill_whole_numbers<double, std::uint64_t>(keys, num_keys, *of, seed);
    throw spansort::invalid_argument("whole numbers are filled in as f32 and f64 alone");
  } else if (distribution == "sorted-tail") {
    fill_sorted_with_tail(keys, seed);
  } else {
    generate(keys, distribution, seed);
  }
}

}  // namespace bench
