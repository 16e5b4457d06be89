// SPDX-License-Identifier: Apache-2.0
// These tests sort one input many times over, and with two sorters at once: what a race between kernels, streams or
// threads would change.
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "gpu/gpu_test.hpp"
#include "spansort/generate.hpp"
#include "spansort/sort.hpp"
#include "support/engines.hpp"
#include "support/environment.hpp"
#include "support/sort_job.hpp"

namespace spansort::test {
namespace {

/// Returns a hash of the words in their order (FNV-1a).
std::uint64_t hash_of(const std::vector<std::uint32_t>& words) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const std::uint32_t word : words) hash = (hash ^ word) * 0x100000001b3u;
  return hash;
}

class repeated_test : public gpu_test {
 protected:
  static constexpr std::uint64_t num_keys = 300'000;
  static constexpr int num_repeats = 1000;

  repeated_test() : input(num_keys), indices(num_keys) {
    // Many equal keys: only a stable sort of pairs gives the same bytes every time.
    generate(as_key_span(std::span(input)), {distribution_kind::zipf, 1}, seed_for(1));
    for (std::uint32_t i = 0; i < num_keys; ++i) indices[i] = i;
  }

  std::vector<std::uint32_t> input;
  std::vector<std::uint32_t> indices;
};

TEST_F(repeated_test, AThousandSortsGiveOneHash) {
  std::vector<std::uint32_t> expected = input;
  sort(expected, {.devices = "cpu"});
  sorter s({.devices = "gpu:0,0,0", .algorithm = algorithm::rmg});
  for (int i = 0; i < num_repeats; ++i) {
    std::vector<std::uint32_t> keys = input;
    s.sort(keys);
    ASSERT_EQ(hash_of(keys), hash_of(expected)) << "sort " << i;
  }
}

TEST_F(repeated_test, AThousandSortsOfPairsGiveOneHash) {
  std::vector<std::uint32_t> expected_keys = input;
  std::vector<std::uint32_t> expected_values = indices;
  sort_pairs(expected_keys, expected_values, {.devices = "cpu"});
  sorter s({.devices = "gpu:0,0,0", .algorithm = algorithm::rmg});
  for (int i = 0; i < num_repeats; ++i) {
    std::vector<std::uint32_t> keys = input;
    std::vector<std::uint32_t> values = indices;
    s.sort_pairs(keys, values);
    ASSERT_EQ(hash_of(keys), hash_of(expected_keys)) << "sort " << i;
    ASSERT_EQ(hash_of(values), hash_of(expected_values)) << "sort " << i;
  }
}

/// Sorts again and again; `wrong` is the first thing that was not right.
void sort_many_times(const std::string& devices, std::uint64_t seed, std::string& wrong) {
  constexpr int num_rounds = 50;
  try {
    sorter s({.devices = devices, .algorithm = devices == "gpu:0" ? algorithm::single : algorithm::rmg});
    sort_job keys({operation::kind::keys, 0},
                  make_oracle(key_type::u32, 500'000, {distribution_kind::uniform}, seed, false));
    sort_job pairs({operation::kind::pairs, 4},
                   make_oracle(key_type::f32, 300'000, {distribution_kind::special_floats}, seed, false));
    for (int round = 0; round < num_rounds && wrong.empty(); ++round) {
      for (sort_job* job : {&keys, &pairs}) {
        job->reset();
        job->run(s);
        wrong += job->diagnose_done();
      }
      if (!wrong.empty()) wrong += " in round " + std::to_string(round);
    }
  } catch (const std::exception& e) {
    wrong = e.what();
  }
}

class two_sorters_test : public gpu_test, public testing::WithParamInterface<const char*> {};

TEST_P(two_sorters_test, SortAtTheSameTime) {
  std::string wrong[2];
  std::thread other(sort_many_times, GetParam(), seed_for(2), std::ref(wrong[1]));
  sort_many_times(GetParam(), seed_for(3), wrong[0]);
  other.join();
  EXPECT_EQ(wrong[0], "");
  EXPECT_EQ(wrong[1], "");
}

INSTANTIATE_TEST_SUITE_P(Gpu, two_sorters_test, testing::Values("gpu:0", "gpu:0,0"),
                         [](const auto& param) { return test_name(param.param); });

}  // namespace
}  // namespace spansort::test
