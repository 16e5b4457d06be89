// SPDX-License-Identifier: Apache-2.0
// This header says what the environment tells the tests.
//   SPANSORT_TEST_SEED   a number, or `random`; default 1. The seed is printed when first used: set it to replay a run.
//   SPANSORT_TEST_SCALE  `small` shrinks the crossings; for builds with sanitizers.
//   SPANSORT_TEST_CASES  number of cases of each test that asks num_cases(); 1000000 for a night.
//   SPANSORT_TEST_LARGE  1 lets tests run that need tens of gigabytes.
#pragma once

#include <cstdint>

namespace spansort::test {

/// Seed of this run; the same at every call.
[[nodiscard]] std::uint64_t base_seed();

/// A seed for one case, derived from base_seed().
[[nodiscard]] std::uint64_t seed_for(std::uint64_t case_number);

/// Random cases to try: SPANSORT_TEST_CASES where it is set, otherwise `usual`, a tenth of it at small scale.
[[nodiscard]] std::uint64_t num_cases(std::uint64_t usual);

[[nodiscard]] bool is_small_scale();
[[nodiscard]] bool may_run_large();

/// Random words for tests that draw few of them (SplitMix64); not shared with the library's generator.
class random_words {
 public:
  explicit random_words(std::uint64_t seed) : state_(seed) {}
  std::uint64_t operator()();
  /// Uniform enough in [0, bound).
  std::uint64_t below(std::uint64_t bound) { return (*this)() % bound; }

 private:
  std::uint64_t state_;
};

}  // namespace spansort::test
