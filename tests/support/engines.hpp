// SPDX-License-Identifier: Apache-2.0
// Ways to run a sort that must all give the same bytes, and one differential run: sorts a guarded copy of the oracle's
// input and says what is wrong with the result.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "spansort/generate.hpp"
#include "spansort/sort.hpp"
#include "support/oracle.hpp"
#include "support/test_tuning.hpp"

namespace spansort::test {

/// A device list, an algorithm, and a world of some size.
struct engine {
  std::string devices;
  std::string algorithm;
  test_tuning tuning = {};
  bool is_costly = false;  ///< takes tens of milliseconds however few the keys: run it on fewer cases

  [[nodiscard]] hooked_options options() const;
  /// A sorter with the engine's options, and its hooks for its own.
  [[nodiscard]] sorter make_sorter() const { return test::make_sorter(options()); }
  /// Everything needed to run it again.
  [[nodiscard]] std::string describe() const;
};

/// `devices` itself, or, with SPANSORT_TEST_DEVICES=gpu, as many ranks (eight at most) dealt out over the machine's
/// GPUs.
[[nodiscard]] std::string devices_under_test(const std::string& devices);

/// Returns whether the devices under test sort by `which` at all: the sorts of one device are not for every kind of
/// device. tests/algorithms/test_local_sorts.cpp is of those that are not.
[[nodiscard]] bool is_offered(algorithm which);

/// Device lists cpu, host:2, host:3, host:7, host:64 and what an algorithm asks for; every algorithm; the default world
/// and shrunken ones in which a thousand keys have many tiles, buckets, passes and spanning buckets.
[[nodiscard]] const std::vector<engine>& all_engines();

struct operation {
  enum class kind { keys, pairs, argsort } what = kind::keys;
  unsigned bytes = 0;  ///< of a value (pairs) or an index (argsort)
};
[[nodiscard]] std::string describe(const operation& op);

/// Runs `op` on a copy of the oracle's input and returns "" or what is wrong: the result, changed keys of an argsort, a
/// red zone, an exception. `misalignment_bytes`: of the values.
[[nodiscard]] std::string diagnose_sort(sorter& s, const oracle& expected, const operation& op,
                                        unsigned misalignment_bytes = 0);
/// Runs `op` as above, but asks the sorter for direction `wanted`, whatever the oracle expects.
[[nodiscard]] std::string diagnose_sort(sorter& s, const oracle& expected, direction wanted, const operation& op,
                                        unsigned misalignment_bytes = 0);

/// `num_keys` generated keys of `type`, as bytes.
[[nodiscard]] std::vector<std::byte> make_keys(key_type type, std::uint64_t num_keys, const distribution& d,
                                               std::uint64_t seed);
[[nodiscard]] oracle make_oracle(key_type type, std::uint64_t num_keys, const distribution& d, std::uint64_t seed,
                                 bool descending);

[[nodiscard]] std::vector<key_type> all_key_types();
/// All types; at small scale one of each width, for what sees no more of a type than its width and its encoding.
[[nodiscard]] std::vector<key_type> varied_key_types();

/// A distribution's or another thing's text as a test name: letters, digits and underscores.
[[nodiscard]] std::string test_name(std::string text);

}  // namespace spansort::test
