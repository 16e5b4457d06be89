// SPDX-License-Identifier: Apache-2.0
// Suite `random`: sorts of drawn sizes, kinds of records, inputs and doors on one GPU, each result compared with CUB's
// byte by byte. It looks for wrong results, and its times are of no interest.
#include <fmt/format.h>

#include <array>
#include <chrono>
#include <cmath>
#include <random>
#include <spansort/errors.hpp>

#include "bench/gpu/local_race.hpp"
#include "bench/gpu/suites.hpp"
#include "device/cuda/cuda_error.hpp"

namespace bench {
namespace {

constexpr std::array drawn_types{"u32",      "u64", "f32", "f64",          "u32(u32)",     "u32(u64)",    "u64(u32)",
                                 "u64(u64)", "u8",  "u16", "argsort(f32)", "argsort(u32)", "argsort(u64)"};
constexpr std::array drawn_inputs{device_input::entropy,       device_input::sorted,     device_input::reversed,
                                  device_input::nearly_sorted, device_input::few_values, device_input::log_uniform};

using generator = std::mt19937_64;

template <class Range>
[[nodiscard]] auto draw_of(generator& random, const Range& from) {
  return from[std::uniform_int_distribution<std::size_t>(0, from.size() - 1)(random)];
}

/// Draws as many sorts in each octave of sizes up to 2^most_log2, and every fourth one from the largest octave.
[[nodiscard]] std::uint64_t draw_size(generator& random, unsigned most_log2) {
  const bool is_large = random() % 4 == 0;
  const double log2_size = std::uniform_real_distribution<double>(is_large ? most_log2 - 1 : 1, most_log2)(random);
  return static_cast<std::uint64_t>(std::exp2(log2_size));
}

[[nodiscard]] race_request draw(generator& random, unsigned most_log2) {
  race_request request;
  request.type = draw_of(random, drawn_types);
  request.input.kind = draw_of(random, drawn_inputs);
  const bool is_entropy = request.input.kind == device_input::entropy;
  request.input.words = is_entropy ? draw_of(random, std::array{1U, 1U, 2U, 3U, 4U, 8U, 16U, 0U})
                                   : draw_of(random, std::array{1U, 2U, 16U, 100U, 1000U, 100'000U});
  request.input.seed = random() >> 1;
  request.input.finite_floats = request.type.find('f') != std::string::npos;
  request.num_keys = draw_size(random, most_log2);
  // Keys of one and two bytes are filled a word at a time.
  request.num_keys += request.num_keys % 4 == 0 ? 0 : 4 - request.num_keys % 4;
  request.repeats = 0;
  request.door = random() % 2 == 0 ? race_door::call : race_door::enqueued;
  return request;
}

[[nodiscard]] json to_json(const race_request& r) {
  return {{"type", r.type},         {"input", static_cast<int>(r.input.kind)},
          {"words", r.input.words}, {"seed", r.input.seed},
          {"num_keys", r.num_keys}, {"door", r.door == race_door::call ? "call" : "enqueued"}};
}

outcome measure(const settings& s) {
  const spansort::device::cuda::device_guard guard(s.devices.front());
  generator random(s.seed);
  const auto begin = std::chrono::steady_clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(); };
  std::uint64_t num_sorts = 0;
  double num_keys = 0;
  json wrong = json::array();
  while (num_keys < s.random_keys && (s.seconds == 0 || elapsed() < s.seconds) && wrong.size() < 10) {
    const race_request request = draw(random, s.log2_size);
    const race_result result = race(request);
    ++num_sorts;
    num_keys += static_cast<double>(request.num_keys);
    if (result.num_differing_words != 0) wrong.push_back(to_json(request));
  }
  outcome found;
  found.verified = wrong.empty();
  found.fields = {{"num_sorts", num_sorts}, {"num_keys", num_keys},     {"seconds", elapsed()},
                  {"seed", s.seed},         {"most_log2", s.log2_size}, {"wrong", wrong}};
  found.line = fmt::format("{} sorts of {:.3e} keys in all, {} wrong", num_sorts, num_keys, wrong.size());
  if (!wrong.empty()) found.line += "; the first is " + wrong.front().dump();
  return found;
}

}  // namespace

void add_random_cases(const settings& s, case_list& cases) {
  cases.push_back({"random", fmt::format("up to 2^{} keys", s.log2_size), [s] { return measure(s); }});
}

}  // namespace bench
