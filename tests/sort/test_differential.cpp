// SPDX-License-Identifier: Apache-2.0
// Differential runs: every key type and distribution, both directions, all operations, sizes around every limit, on
// device lists, algorithms and shrunken worlds. Each case runs on one engine, all of them in turn, so that every engine
// meets every type, distribution and size; all are compared with the same reference, bit for bit.
#include <gtest/gtest.h>

#include <map>
#include <tuple>
#include <vector>

#include "support/engines.hpp"
#include "support/environment.hpp"
#include "support/oracle.hpp"

namespace spansort::test {
namespace {

std::vector<std::uint64_t> sizes() {
  if (is_small_scale()) return {0, 1, 2, 3, 33, 64, 257, 1000, 4097};
  return {0, 1, 2, 3, 7, 31, 32, 33, 64, 100, 255, 256, 257, 1000, 4095, 4096, 4097, 16385};
}

/// All three kinds of sort; at small scale one of them in turn.
std::vector<operation> operations(std::uint64_t case_number) {
  using kind = operation::kind;
  constexpr unsigned widths[] = {4, 8, 16, 1, 2, 3, 5, 12, 24, 40};
  const operation keys{kind::keys, 0};
  const operation pairs{kind::pairs, widths[case_number % std::size(widths)]};
  const operation argsort{kind::argsort, case_number % 2 == 0 ? 4u : 8u};
  if (!is_small_scale()) return {keys, pairs, argsort};
  const operation all[] = {keys, pairs, argsort};
  return {all[case_number % 3]};
}

/// Sorters of one direction, opened when first needed.
class sorter_pool {
 public:
  sorter& of(std::size_t engine_number) {
    auto found = sorters_.find(engine_number);
    if (found == sorters_.end()) {
      found = sorters_.emplace(engine_number, all_engines()[engine_number].make_sorter()).first;
    }
    return found->second;
  }

 private:
  std::map<std::size_t, sorter> sorters_;
};

class differential_test : public testing::TestWithParam<std::tuple<key_type, std::size_t>> {
 protected:
  key_type type = std::get<0>(GetParam());
  std::size_t distribution_number = std::get<1>(GetParam());

  /// The engine of one case: all of them in turn. Costly ones stand back in three of four rounds, and for large inputs.
  static std::size_t engine_for(std::uint64_t case_number, std::uint64_t num_keys) {
    const std::size_t num_engines = all_engines().size();
    const std::size_t turn = case_number % num_engines;
    const bool may_be_costly = (case_number / num_engines) % 4 == 0 && num_keys < 5000;
    return all_engines()[turn].is_costly && !may_be_costly ? (turn + 1) % num_engines : turn;
  }

  void run_direction(bool descending) {
    const distribution d = all_distributions()[distribution_number];
    sorter_pool pool;
    // Neighbouring tests start at different places of the engine list.
    std::uint64_t case_number = static_cast<std::uint64_t>(type) * 5 + distribution_number * 11 + descending;
    for (const std::uint64_t n : sizes()) {
      const std::uint64_t seed = seed_for(n * 100 + distribution_number);
      const oracle expected = make_oracle(type, n, d, seed, descending);
      for (const operation& op : operations(case_number)) {
        const std::size_t e = engine_for(case_number++, n);
        ASSERT_EQ(diagnose_sort(pool.of(e), expected, op), "")
            << describe(op) << " of " << n << " " << name(type) << " keys, " << to_string(d) << " of seed " << seed
            << (descending ? ", descending" : ", ascending") << ", by " << all_engines()[e].describe();
      }
    }
  }
};

TEST_P(differential_test, Ascending) { run_direction(false); }
TEST_P(differential_test, Descending) { run_direction(true); }

INSTANTIATE_TEST_SUITE_P(Sort, differential_test,
                         testing::Combine(testing::ValuesIn(all_key_types()),
                                          testing::Range(std::size_t{0}, all_distributions().size())),
                         [](const auto& param) {
                           return std::string(name(std::get<0>(param.param))) + "_" +
                                  test_name(to_string(all_distributions()[std::get<1>(param.param)]));
                         });

/// Large enough that the default world has several tiles, tasks and buckets.
class default_world_test : public testing::TestWithParam<key_type> {};

TEST_P(default_world_test, QuarterMillionKeys) {
  const std::uint64_t n = (is_small_scale() ? 1 << 16 : 1 << 18) + 77;
  const distribution shapes[] = {
      {distribution_kind::uniform}, {distribution_kind::zipf, 1}, {distribution_kind::special_floats}};
  const engine engines[] = {{"cpu", "single"}, {"host:3", "rmg"}, {"auto", "auto"}};
  const operation runs[] = {{operation::kind::keys}, {operation::kind::pairs, 8}, {operation::kind::argsort, 4}};
  for (std::size_t i = 0; i < std::size(shapes); ++i) {
    const bool descending = i == 1;
    const oracle expected = make_oracle(GetParam(), n, shapes[i], seed_for(i), descending);
    for (std::size_t j = 0; j < std::size(engines); ++j) {
      sorter s = engines[j].make_sorter();
      const operation& op = runs[(i + j) % std::size(runs)];
      ASSERT_EQ(diagnose_sort(s, expected, op), "") << describe(op) << ", " << to_string(shapes[i]) << ", by "
                                                    << engines[j].describe() << ", seed " << seed_for(i);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sort, default_world_test, testing::ValuesIn(all_key_types()),
                         [](const auto& param) { return std::string(name(param.param)); });

}  // namespace
}  // namespace spansort::test
