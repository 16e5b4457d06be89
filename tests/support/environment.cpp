// SPDX-License-Identifier: Apache-2.0
#include "support/environment.hpp"

#include <cstdio>
#include <cstdlib>
#include <random>
#include <stdexcept>
#include <string>

namespace spansort::test {
namespace {

std::string variable(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? "" : text;
}

std::uint64_t read_seed() {
  const std::string text = variable("SPANSORT_TEST_SEED");
  if (text.empty()) return 1;
  if (text == "random") return std::random_device{}();
  std::size_t used = 0;
  const std::uint64_t seed = std::stoull(text, &used);
  if (used != text.size()) throw std::runtime_error("SPANSORT_TEST_SEED: expected a number or `random`, found " + text);
  return seed;
}

}  // namespace

std::uint64_t base_seed() {
  static const std::uint64_t seed = [] {
    const std::uint64_t read = read_seed();
    std::printf("SPANSORT_TEST_SEED=%llu\n", static_cast<unsigned long long>(read));
    return read;
  }();
  return seed;
}

std::uint64_t seed_for(std::uint64_t case_number) { return random_words(base_seed() * 0x10001 + case_number)(); }

std::uint64_t num_cases(std::uint64_t usual) {
  const std::string text = variable("SPANSORT_TEST_CASES");
  if (!text.empty()) return std::stoull(text);
  return is_small_scale() ? usual / 10 : usual;
}

bool is_small_scale() { return variable("SPANSORT_TEST_SCALE") == "small"; }

bool may_run_large() { return variable("SPANSORT_TEST_LARGE") == "1"; }

std::uint64_t random_words::operator()() {
  state_ += 0x9e3779b97f4a7c15u;
  std::uint64_t z = state_;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

}  // namespace spansort::test
